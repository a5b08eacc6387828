package cluster

import (
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"strconv"
)

// nthAddr returns the nth address of a range, counted from 0, and whether the
// range has it.
func nthAddr(p netip.Prefix, n uint64) (netip.Addr, bool) {
	base := new(big.Int).SetBytes(p.Masked().Addr().AsSlice())
	base.Add(base, new(big.Int).SetUint64(n))
	a, ok := addrOf(base, p.Addr().Is4())
	return a, ok && p.Contains(a)
}

// nthSubnet returns the nth part of a range that is split into parts with prefix length
// bits.
func nthSubnet(p netip.Prefix, bits int, n uint64) (netip.Prefix, bool) {
	width := p.Addr().BitLen()
	step := new(big.Int).Lsh(new(big.Int).SetUint64(n), uint(width-bits))
	base := new(big.Int).SetBytes(p.Masked().Addr().AsSlice())
	a, ok := addrOf(base.Add(base, step), p.Addr().Is4())
	if !ok || !p.Contains(a) {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(a, bits), true
}

func addrOf(n *big.Int, is4 bool) (netip.Addr, bool) {
	size := 16
	if is4 {
		size = 4
	}
	if n.BitLen() > size*8 {
		return netip.Addr{}, false
	}
	a, ok := netip.AddrFromSlice(n.FillBytes(make([]byte, size)))
	return a, ok
}

// subnetCount returns the number of parts with prefix length bits in a range, at most
// 1<<31, which exceeds any number of nodes.
func subnetCount(p netip.Prefix, bits int) uint64 {
	switch d := bits - p.Bits(); {
	case d < 0:
		return 0
	case d >= 31:
		return 1 << 31
	default:
		return 1 << d
	}
}

// PodRoom returns the number of pods for which a node's range has addresses.
func PodRoom(r netip.Prefix) uint64 { return hostCount(r.Addr().Is4(), r.Bits()) }

// hostCount returns the number of pods that fit into a node's range with prefix length
// bits: without the first address, the gateway and, for IPv4, the broadcast address.
// Capped like [subnetCount].
func hostCount(is4 bool, bits int) uint64 {
	width, reserved := 128, uint64(2)
	if is4 {
		width, reserved = 32, 3
	}
	free := width - bits
	switch {
	case free >= 31:
		return 1 << 31
	case 1<<free <= reserved:
		return 0
	default:
		return 1<<free - reserved
	}
}

func hostPort(ip string, port int) string { return net.JoinHostPort(ip, strconv.Itoa(port)) }

func httpsURL(ip string, port int) string { return "https://" + hostPort(ip, port) }

func endpoint(name, ip string, port int) Endpoint {
	return Endpoint{Name: name, IP: ip, Port: port, HostPort: hostPort(ip, port), URL: httpsURL(ip, port)}
}

// parseCIDR accepts a range only when its address is the first one, because a stray host
// part is nearly always a mistake.
func parseCIDR(s string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return p, fmt.Errorf("%q is not a range such as 10.244.0.0/16", s)
	}
	if p != p.Masked() {
		return p, fmt.Errorf("%q does not start at the first address of its range: write %s", s, p.Masked())
	}
	return p, nil
}
