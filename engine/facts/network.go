package facts

import (
	"encoding/hex"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// addresses returns the global unicast addresses of all interfaces that are up,
// in the order of the kernel.
func addresses() []string {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil
	}
	var found []string
	for _, i := range interfaces {
		if i.Flags&net.FlagUp != 0 {
			for _, a := range global(i) {
				found = append(found, a.String())
			}
		}
	}
	return found
}

func global(i net.Interface) []netip.Addr {
	list, err := i.Addrs()
	if err != nil {
		return nil
	}
	var found []netip.Addr
	for _, a := range list {
		prefix, err := netip.ParsePrefix(a.String())
		if err != nil {
			continue
		}
		if ip := prefix.Addr().Unmap(); ip.IsGlobalUnicast() {
			found = append(found, ip)
		}
	}
	return found
}

// defaultRoute names the interface of the default route with the lowest metric,
// and the first address on it: IPv4 if there is such a route, else IPv6.
func (h host) defaultRoute() (iface, ip string) {
	iface, v4 := defaultIPv4(h.read("/proc/net/route")), true
	if iface == "" {
		iface, v4 = defaultIPv6(h.read("/proc/net/ipv6_route")), false
	}
	if iface == "" {
		return "", ""
	}
	i, err := net.InterfaceByName(iface)
	if err != nil {
		return iface, ""
	}
	for _, a := range global(*i) {
		if a.Is4() == v4 {
			return iface, a.String()
		}
	}
	return iface, ""
}

// defaultIPv4 reads /proc/net/route: Iface Destination Gateway Flags RefCnt Use
// Metric Mask ..., numbers in hexadecimal except for the metric; flag 1 is "up".
func defaultIPv4(table string) string {
	best, name := -1, ""
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 8 || f[1] != "00000000" || f[7] != "00000000" {
			continue
		}
		flags, err := strconv.ParseUint(f[3], 16, 32)
		metric, err2 := strconv.Atoi(f[6])
		if err != nil || err2 != nil || flags&1 == 0 {
			continue
		}
		if best < 0 || metric < best {
			best, name = metric, f[0]
		}
	}
	return name
}

// defaultIPv6 reads /proc/net/ipv6_route: destination, prefix length, source,
// prefix length, next hop, metric, references, use, flags, interface, all in
// hexadecimal. The kernel keeps a default route of its own on lo that rejects.
func defaultIPv6(table string) string {
	var best uint32
	name := ""
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 10 || f[1] != "00" || strings.Trim(f[0], "0") != "" || f[9] == "lo" {
			continue
		}
		raw, err := hex.DecodeString(f[5])
		if err != nil || len(raw) != 4 {
			continue
		}
		metric := uint32(raw[0])<<24 | uint32(raw[1])<<16 | uint32(raw[2])<<8 | uint32(raw[3])
		if name == "" || metric < best {
			best, name = metric, f[9]
		}
	}
	return name
}
