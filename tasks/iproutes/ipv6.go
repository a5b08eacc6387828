package iproutes

import (
	"encoding/hex"
	"net/netip"
	"strconv"
)

// Flags of routes of IPv6 (linux/ipv6_route.h, linux/route.h).
const (
	flagReject  = 0x0200
	flagAnycast = 0x00100000
	flagLocal   = 0x80000000
)

// parseIPv6 parses a line of /proc/net/ipv6_route; routes to addresses of the host itself are none. All
// numbers are hexadecimal: destination, its length, source, its length, gateway, metric, two counters,
// flags; the interface comes last (rt6_info_route in the kernel's net/ipv6/ip6_fib.c).
func parseIPv6(fields []string) (Route, bool) {
	if len(fields) < 10 {
		return Route{}, false
	}
	to, gateway := address6(fields[0]), address6(fields[4])
	bits, err := strconv.ParseUint(fields[1], 16, 8)
	metric, metricErr := strconv.ParseUint(fields[5], 16, 32)
	flags, flagsErr := strconv.ParseUint(fields[8], 16, 32)
	if !to.IsValid() || !gateway.IsValid() || err != nil || metricErr != nil || flagsErr != nil || bits > 128 || flags&(flagLocal|flagAnycast) != 0 {
		return Route{}, false
	}
	r := Route{To: netip.PrefixFrom(to, int(bits)), Gateway: gateway, Interface: fields[9], Metric: strconv.FormatUint(metric, 10)}
	if flags&flagReject != 0 {
		r.Interface = "*"
	}
	return r, true
}

func address6(text string) netip.Addr {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != 16 {
		return netip.Addr{}
	}
	return netip.AddrFrom16([16]byte(raw))
}
