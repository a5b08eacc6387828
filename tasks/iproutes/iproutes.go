// Package iproutes reads the kernel's routes: those of IPv4 in its main table, and those of IPv6.
package iproutes

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"strings"

	"deployer/engine"
)

// Route is one route.
type Route struct {
	To        netip.Prefix
	Gateway   netip.Addr // unspecified for a connected network
	Interface string     // "*" for a route that rejects packets
	Metric    string     // decimal
}

// Read returns the routes in the order of the kernel, those of IPv4 first; none of a family that the
// kernel does not have.
func Read(sys engine.System) ([]Route, error) {
	ipv4, err := read(sys, "/proc/net/route", parseIPv4)
	if err != nil {
		return nil, err
	}
	ipv6, err := read(sys, "/proc/net/ipv6_route", parseIPv6)
	return append(ipv4, ipv6...), err
}

// read returns the routes in a file of the kernel, one in each line that parse accepts.
func read(sys engine.System, path string, parse func(fields []string) (Route, bool)) ([]Route, error) {
	f, err := os.Open(sys.Path(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the kernel's routes: %w", err)
	}
	defer func() { _ = f.Close() }()
	var out []Route
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if r, ok := parse(strings.Fields(lines.Text())); ok {
			out = append(out, r)
		}
	}
	return out, lines.Err()
}

// parseIPv4 parses a line of /proc/net/route; the header of the table is none. Its fields are Iface,
// Destination, Gateway, Flags, RefCnt, Use, Metric, Mask and others.
func parseIPv4(fields []string) (Route, bool) {
	if len(fields) < 8 {
		return Route{}, false
	}
	to, gateway, mask := address(fields[1]), address(fields[2]), address(fields[7])
	if !to.IsValid() || !gateway.IsValid() || !mask.IsValid() {
		return Route{}, false
	}
	return Route{To: netip.PrefixFrom(to, ones(mask)), Gateway: gateway, Interface: fields[0], Metric: fields[6]}, true
}

// Before reports whether the kernel prefers a route to another one with the same prefix.
func (r Route) Before(other Route) bool {
	a, b := r.Metric, other.Metric // decimal numbers without leading zeros
	return len(a) < len(b) || len(a) == len(b) && a < b
}

// InterfaceTo returns the interface by which packets to an address leave. It returns "" when no route
// leads there.
func InterfaceTo(routes []Route, to netip.Addr) string {
	best, _ := RouteTo(routes, to)
	return best.Interface
}

// RouteTo returns the route that packets to an address take: that of the longest prefix, and of its
// lowest metric. It returns false when none leads there.
func RouteTo(routes []Route, to netip.Addr) (Route, bool) {
	best := Route{}
	for _, r := range routes {
		if !r.To.Contains(to) {
			continue
		}
		if best.Interface == "" || r.To.Bits() > best.To.Bits() || r.To.Bits() == best.To.Bits() && r.Before(best) {
			best = r
		}
	}
	if best.Interface == "" || best.Interface == "*" {
		return Route{}, false
	}
	return best, true
}

// address parses four bytes in hex digits, the last byte of the address first.
func address(text string) netip.Addr {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != 4 {
		return netip.Addr{}
	}
	return netip.AddrFrom4([4]byte{raw[3], raw[2], raw[1], raw[0]})
}

func ones(mask netip.Addr) (n int) {
	for _, b := range mask.AsSlice() {
		for ; b != 0; b <<= 1 {
			n++
		}
	}
	return n
}
