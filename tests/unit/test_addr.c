// Every spelling of an address that a target must not have is told apart from those it may.
#include "base/mem.h"
#include "http/client/addr.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *text;
    enum addr_class class;
} rows[] = {
    {"8.8.8.8", ADDR_PUBLIC},
    {"1.0.0.0", ADDR_PUBLIC},
    {"11.0.0.0", ADDR_PUBLIC},
    {"100.63.255.255", ADDR_PUBLIC},
    {"100.128.0.0", ADDR_PUBLIC},
    {"172.15.255.255", ADDR_PUBLIC},
    {"172.32.0.0", ADDR_PUBLIC},
    {"192.167.255.255", ADDR_PUBLIC},
    {"192.169.0.0", ADDR_PUBLIC},
    {"223.255.255.255", ADDR_PUBLIC},
    {"127.0.0.1", ADDR_LOOPBACK},
    {"127.255.255.254", ADDR_LOOPBACK},
    {"10.0.0.0", ADDR_PRIVATE},
    {"10.255.255.255", ADDR_PRIVATE},
    {"100.64.0.1", ADDR_PRIVATE},
    {"172.16.0.1", ADDR_PRIVATE},
    {"172.31.255.255", ADDR_PRIVATE},
    {"192.168.1.1", ADDR_PRIVATE},
    {"198.19.255.255", ADDR_PRIVATE},
    {"169.254.0.1", ADDR_LINK_LOCAL},
    {"169.254.169.254", ADDR_METADATA},
    {"169.254.170.2", ADDR_METADATA},
    {"100.100.100.200", ADDR_METADATA},
    {"192.0.0.192", ADDR_METADATA},
    {"168.63.129.16", ADDR_METADATA},
    {"224.0.0.1", ADDR_MULTICAST},
    {"239.255.255.255", ADDR_MULTICAST},
    {"255.255.255.255", ADDR_BROADCAST},
    {"0.0.0.0", ADDR_UNSPECIFIED},
    {"0.0.0.1", ADDR_RESERVED},
    {"192.0.2.1", ADDR_RESERVED},
    {"198.51.100.1", ADDR_RESERVED},
    {"203.0.113.1", ADDR_RESERVED},
    {"240.0.0.1", ADDR_RESERVED},
    {"2606:4700::1111", ADDR_PUBLIC},
    {"2a00::1", ADDR_PUBLIC},
    {"::", ADDR_UNSPECIFIED},
    {"::1", ADDR_LOOPBACK},
    {"::ffff:127.0.0.1", ADDR_LOOPBACK},
    {"::ffff:7f00:1", ADDR_LOOPBACK},
    {"::ffff:169.254.169.254", ADDR_METADATA},
    {"::ffff:0.0.0.0", ADDR_UNSPECIFIED},
    {"::ffff:8.8.8.8", ADDR_PUBLIC},
    {"::127.0.0.1", ADDR_LOOPBACK},
    {"::10.0.0.1", ADDR_PRIVATE},
    {"::ffff:0:10.0.0.1", ADDR_PRIVATE},
    {"64:ff9b::10.1.2.3", ADDR_PRIVATE},
    {"64:ff9b::8.8.8.8", ADDR_PUBLIC},
    {"64:ff9b:1::1", ADDR_PRIVATE},
    {"2002:7f00:1::", ADDR_LOOPBACK},
    {"2002:a9fe:a9fe::1", ADDR_METADATA},
    {"2002:808:808::1", ADDR_PUBLIC},
    {"2001:0:53aa:64c:1::1", ADDR_RESERVED},
    {"2001:20::1", ADDR_RESERVED},
    {"2001:db8::1", ADDR_RESERVED},
    {"3fff::1", ADDR_RESERVED},
    {"100::1", ADDR_RESERVED},
    {"4000::1", ADDR_RESERVED},
    {"fc00::1", ADDR_PRIVATE},
    {"fdff::1", ADDR_PRIVATE},
    {"fd00:ec2::254", ADDR_METADATA},
    {"fd20:ce::254", ADDR_METADATA},
    {"fe80::1", ADDR_LINK_LOCAL},
    {"febf::1", ADDR_LINK_LOCAL},
    {"fec0::1", ADDR_PRIVATE},
    {"ff02::1", ADDR_MULTICAST},
};

static struct sockaddr_storage parse(const char *text)
{
    struct sockaddr_storage address = {.ss_family = AF_INET};
    if (inet_pton(AF_INET, text, &((struct sockaddr_in *)&address)->sin_addr) == 1)
        return address;
    address.ss_family = AF_INET6;
    assert_int_equal(inet_pton(AF_INET6, text, &((struct sockaddr_in6 *)&address)->sin6_addr), 1);
    return address;
}

static void every_form_has_its_class(void **state)
{
    for (size_t i = 0; i < array_count(rows); i++) {
        struct sockaddr_storage address = parse(rows[i].text);
        enum addr_class got = addr_class((struct sockaddr *)&address);
        if (got != rows[i].class)
            fail_msg("%s is %s, not %s", rows[i].text, addr_class_text(got), addr_class_text(rows[i].class));
    }
}

static bool allowed(const char *text, bool private_allowed)
{
    struct sockaddr_storage address = parse(text);
    return addr_allowed((struct sockaddr *)&address, private_allowed);
}

static void from_outside_only_public_ones_are_allowed(void **state)
{
    for (size_t i = 0; i < array_count(rows); i++)
        assert_int_equal(allowed(rows[i].text, false), rows[i].class == ADDR_PUBLIC);
}

static void inside_all_but_what_nobody_can_be_is_allowed(void **state)
{
    for (size_t i = 0; i < array_count(rows); i++)
        assert_int_equal(allowed(rows[i].text, true), rows[i].class < ADDR_MULTICAST);
}

static void another_family_is_never_allowed(void **state)
{
    struct sockaddr address = {.sa_family = AF_UNIX};
    assert_false(addr_allowed(&address, true));
}

static void an_address_is_written_as_it_was_read(void **state)
{
    static const char *const texts[] = {"127.0.0.1", "8.8.8.8", "::1", "2001:db8::7"};
    for (size_t i = 0; i < array_count(texts); i++) {
        union addr addr;
        char text[ADDR_TEXT_SIZE];
        bool ipv6 = strchr(texts[i], ':');
        assert_true(addr_parse(&addr, texts[i], ipv6));
        assert_string_equal(addr_text(&addr, text), texts[i]);
        assert_false(addr_parse(&addr, texts[i], !ipv6));
    }
}

static void two_addresses_are_the_same_whatever_their_port(void **state)
{
    union addr one, other;
    assert_true(addr_parse(&one, "10.0.0.1", false) && addr_parse(&other, "10.0.0.1", false));
    other.v4.sin_port = htons(80);
    assert_true(addr_same(&one, &other));
    assert_true(addr_parse(&other, "10.0.0.2", false));
    assert_false(addr_same(&one, &other));
    assert_true(addr_parse(&one, "::ffff:10.0.0.2", true));
    assert_false(addr_same(&one, &other));
    assert_true(addr_parse(&other, "::ffff:10.0.0.2", true));
    other.v6.sin6_port = htons(80);
    assert_true(addr_same(&one, &other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_has_its_class),
        cmocka_unit_test(from_outside_only_public_ones_are_allowed),
        cmocka_unit_test(inside_all_but_what_nobody_can_be_is_allowed),
        cmocka_unit_test(another_family_is_never_allowed),
        cmocka_unit_test(an_address_is_written_as_it_was_read),
        cmocka_unit_test(two_addresses_are_the_same_whatever_their_port),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
