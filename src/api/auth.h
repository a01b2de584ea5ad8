// Who asks, and from where: the only place that gives a request its tenant.
// Layer: api. HTTP thread; the auth_loopback_ functions are pure.
#pragma once
#include "api/api.h"

enum { AUTH_TENANT_DEFAULT = 1 }; // the tenant `default`

// May this place call at all? On a loopback listener Host and Origin must be loopback names: a web page that made its own name
// point to this machine (DNS rebinding) is refused. So is what a browser asks for a page from elsewhere without an Origin, an
// image or a link to here, by its Sec-Fetch-Site. ERR_FORBIDDEN.
err_check enum err auth_place(const struct api *api, struct http_request *request, struct problem *why);

// For whom the request acts. ERR_UNAUTHORIZED when a key is missing or wrong.
err_check enum err auth_tenant(const struct api *api, struct http_request *request, int32_t *ret_tenant, struct problem *why);

bool auth_loopback_host(struct str host);     // "localhost:7070", "127.0.0.1", "[::1]:80"
bool auth_loopback_origin(struct str origin); // "http://localhost:7070"
