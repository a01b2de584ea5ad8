"""Who may ask: what comes from elsewhere, or with a wrong key, is refused. Bad requests are in test_bad_*.py."""

import pytest

from support.problem import assert_problem

URL = "http://127.0.0.1:9/never-called"


class TestOnlyFromHere:
    """A listener on loopback trusts its callers, so a page from elsewhere must not be able to use the browser as one."""

    @pytest.mark.parametrize("host", ["evil.example", "evil.example:7070", "127.0.0.1.evil.example", "192.0.2.7", ""])
    def test_a_foreign_host_is_refused(self, shared_api, host):
        answer = shared_api.get("/v1/stats", headers={"Host": host})
        assert answer.status in (400, 403), answer

    @pytest.mark.parametrize("host", ["localhost", "localhost:1234", "127.0.0.1", "127.0.0.1:7070", "[::1]:7070"])
    def test_loopback_names_are_fine(self, shared_api, host):
        assert shared_api.get("/v1/stats", headers={"Host": host}).status == 200

    @pytest.mark.parametrize("origin", ["http://evil.example", "https://127.0.0.1.evil.example", "null"])
    def test_a_foreign_origin_is_refused(self, shared_api, origin):
        answer = shared_api.post("/v1/tasks", {"url": URL}, headers={"Origin": origin})
        assert_problem(answer, 403)

    def test_an_origin_from_here_is_fine(self, shared_api):
        assert shared_api.get("/v1/stats", headers={"Origin": "http://localhost:3000"}).status == 200

    def test_a_wrong_key_is_401(self, shared_api):
        answer = shared_api.get("/v1/stats", headers={"Authorization": "Bearer rota_sk_wrong"})
        assert_problem(answer, 401, "unauthorized")
