package dialect

import (
	"fmt"
	"math/big"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// addresses is the filter ipaddr. It returns false for a value that is no address
// and, for a list, the elements that are addresses.
func addresses(c *call, version func(netip.Addr) bool) (any, error) {
	query := c.arg(0, "query", "")
	items, isList := list(c.value)
	if !isList {
		s, err := Print(c.value)
		if err != nil {
			return false, nil //nolint:nilerr // null is no address
		}
		return address(s, query, version)
	}
	out := []any{}
	for _, e := range items {
		s, err := Print(e)
		if err != nil {
			continue
		}
		v, err := address(s, query, version)
		if err != nil {
			return nil, err
		}
		if v != false {
			out = append(out, v)
		}
	}
	return out, nil
}

func address(s string, query any, version func(netip.Addr) bool) (any, error) {
	p, bare, ok := parseAddress(s)
	if !ok || !version(p.Addr()) {
		return false, nil
	}
	if n, ok := toInt(query); ok {
		a, err := nth(p, int64(n))
		if err != nil {
			return nil, err
		}
		return netip.PrefixFrom(a, p.Bits()).String(), nil
	}
	name, _ := query.(string)
	if in, err := netip.ParsePrefix(name); err == nil { // a network that it has to be in
		if in.Contains(p.Addr()) && p.Bits() >= in.Bits() {
			return s, nil
		}
		return false, nil
	}
	return queried(s, p, bare, name)
}

func queried(s string, p netip.Prefix, bare bool, query string) (any, error) {
	net := p.Masked()
	switch query {
	case "":
		return s, nil
	case "address", "ip":
		if !bare && net == p && p.Bits() < p.Addr().BitLen()-1 {
			return false, nil // a network, and no address in it
		}
		return p.Addr().String(), nil
	case "network", "network_id":
		return net.Addr().String(), nil
	case "net", "network/prefix", "subnet":
		if query == "net" && (bare || net != p) {
			return false, nil
		}
		return net.String(), nil
	case "prefix":
		return p.Bits(), nil
	case "cidr", "host/prefix", "address/prefix", "host", "gateway", "gw":
		return p.String(), nil
	case "netmask":
		return mask(p), nil
	case "broadcast":
		return last(net).String(), nil
	case "first_usable", "last_usable", "range_usable":
		return usable(net, query), nil
	case "size":
		return plainBig(size(p)), nil
	case "version":
		return map[bool]int{true: 4, false: 6}[p.Addr().Is4()], nil
	case "private":
		return keep(s, p.Addr().IsPrivate()), nil
	case "public":
		return keep(s, p.Addr().IsGlobalUnicast() && !p.Addr().IsPrivate()), nil
	case "loopback":
		return keep(s, p.Addr().IsLoopback()), nil
	case "multicast":
		return keep(s, p.Addr().IsMulticast()), nil
	case "int":
		return plainBig(new(big.Int).SetBytes(p.Addr().AsSlice())), nil
	case "wrap":
		return wrapped(s), nil
	case "revdns":
		return reverseName(p.Addr()), nil
	}
	return nil, fmt.Errorf("there is no query %q", query)
}

func keep(s string, is bool) any {
	if is {
		return s
	}
	return false
}

func plainBig(n *big.Int) any {
	if n.IsInt64() {
		return int(n.Int64())
	}
	return n.String()
}

func size(p netip.Prefix) *big.Int {
	return new(big.Int).Lsh(big.NewInt(1), uint(p.Addr().BitLen()-p.Bits()))
}

func mask(p netip.Prefix) string {
	b := make([]byte, p.Addr().BitLen()/8)
	for i := range p.Bits() {
		b[i/8] |= 1 << (7 - i%8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a.String()
}

func last(p netip.Prefix) netip.Addr {
	a, _ := nth(p, -1)
	return a
}

// usable returns the addresses that hosts of a network may have.
func usable(net netip.Prefix, query string) string {
	from, to := net.Addr(), last(net)
	if net.Addr().Is4() && net.Bits() < 31 {
		from, to = from.Next(), to.Prev()
	}
	switch query {
	case "first_usable":
		return from.String()
	case "last_usable":
		return to.String()
	}
	return from.String() + "-" + to.String()
}

// nth returns an address of a network by its position; negative positions count from the
// end.
func nth(p netip.Prefix, n int64) (netip.Addr, error) {
	net, at := p.Masked(), big.NewInt(n)
	if n < 0 {
		at.Add(at, size(p))
	}
	if at.Sign() < 0 || at.Cmp(size(p)) >= 0 {
		return netip.Addr{}, fmt.Errorf("%s has no address %d", net, n)
	}
	at.Add(at, new(big.Int).SetBytes(net.Addr().AsSlice()))
	b := make([]byte, net.Addr().BitLen()/8)
	at.FillBytes(b)
	a, _ := netip.AddrFromSlice(b)
	return a, nil
}

// wrapped returns an IPv6 address in brackets.
func wrapped(s string) string {
	if p, _, ok := parseAddress(s); ok && p.Addr().Is6() {
		a, length, cut := strings.Cut(s, "/")
		if cut {
			return "[" + a + "]/" + length
		}
		return "[" + s + "]"
	}
	return s
}

func reverseName(a netip.Addr) string {
	var parts []string
	if a.Is4() {
		for _, b := range a.AsSlice() {
			parts = append(parts, strconv.Itoa(int(b)))
		}
		slices.Reverse(parts)
		return strings.Join(parts, ".") + ".in-addr.arpa."
	}
	for _, b := range a.AsSlice() {
		parts = append(parts, strconv.FormatUint(uint64(b>>4), 16), strconv.FormatUint(uint64(b&15), 16))
	}
	slices.Reverse(parts)
	return strings.Join(parts, ".") + ".ip6.arpa."
}
