package dialect

import (
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"strconv"
	"strings"
)

func networkFilters() map[string]filter {
	return map[string]filter{
		"ipaddr":             {do: func(c *call) (any, error) { return addresses(c, anyVersion) }, most: 1},
		"ipv4":               {do: func(c *call) (any, error) { return addresses(c, netip.Addr.Is4) }, most: 1},
		"ipv6":               {do: func(c *call) (any, error) { return addresses(c, netip.Addr.Is6) }, most: 1},
		"ipwrap":             text(wrapped),
		"nthhost":            {do: nthHost, most: 1},
		"ipsubnet":           {do: subnet, most: 2},
		"network_in_usable":  {do: inNetwork, most: 1},
		"network_in_network": {do: inNetwork, most: 1},
	}
}

func anyVersion(netip.Addr) bool { return true }

// parseAddress parses an address or a network. An address without a prefix length has that
// of a single host.
func parseAddress(s string) (p netip.Prefix, bare, ok bool) {
	if a, err := netip.ParseAddr(s); err == nil {
		return netip.PrefixFrom(a, a.BitLen()), true, true
	}
	if p, err := netip.ParsePrefix(s); err == nil {
		return p, false, true
	}
	if a, mask, cut := strings.Cut(s, "/"); cut { // 10.0.0.0/255.0.0.0
		addr, err := netip.ParseAddr(a)
		m, wrong := netip.ParseAddr(mask)
		if err == nil && wrong == nil && addr.Is4() && m.Is4() {
			n := number32(m)
			bits := 0
			for ; bits < 32 && n&(1<<(31-bits)) != 0; bits++ {
			}
			return netip.PrefixFrom(addr, bits), false, n<<bits == 0
		}
	}
	return netip.Prefix{}, false, false
}

func number32(a netip.Addr) uint32 {
	b := a.As4()
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

func (c *call) network() (netip.Prefix, error) {
	s, err := Print(c.value)
	if err != nil {
		return netip.Prefix{}, err
	}
	p, _, ok := parseAddress(s)
	if !ok {
		return p, fmt.Errorf("%q is no address and no network", s)
	}
	return p, nil
}

func nthHost(c *call) (any, error) {
	p, err := c.network()
	if err != nil {
		return nil, err
	}
	n, err := c.number(0, "query", 0)
	if err != nil {
		return nil, err
	}
	a, err := nth(p, int64(n))
	if err != nil {
		return nil, err
	}
	return a.String(), nil
}

// subnet is the filter ipsubnet(bits, index). It returns the network of that length
// around an address, or the one at a position in a network; without an index the
// number of such networks.
func subnet(c *call) (any, error) {
	p, err := c.network()
	if err != nil {
		return nil, err
	}
	bits, err := c.number(0, "query", p.Bits())
	if err != nil {
		return nil, err
	}
	if bits < 0 || bits > p.Addr().BitLen() {
		return nil, fmt.Errorf("%d is no length of a network of %s", bits, p)
	}
	if bits < p.Bits() {
		return netip.PrefixFrom(p.Addr(), bits).Masked().String(), nil
	}
	count := new(big.Int).Lsh(big.NewInt(1), uint(bits-p.Bits()))
	index := c.arg(1, "index", nil)
	if index == nil {
		return strconv.Itoa(int(count.Int64())), nil
	}
	i, ok := toInt(index)
	if !ok {
		return nil, errors.New("index: want a whole number")
	}
	at := big.NewInt(int64(i))
	if i < 0 {
		at.Add(at, count)
	}
	if at.Sign() < 0 || at.Cmp(count) >= 0 {
		return nil, fmt.Errorf("%s has no network %d of /%d", p, i, bits)
	}
	at.Lsh(at, uint(p.Addr().BitLen()-bits))
	at.Add(at, new(big.Int).SetBytes(p.Masked().Addr().AsSlice()))
	b := make([]byte, p.Addr().BitLen()/8)
	at.FillBytes(b)
	a, _ := netip.AddrFromSlice(b)
	return netip.PrefixFrom(a, bits).String(), nil
}

// inNetwork reports whether an address or network lies in another one.
func inNetwork(c *call) (any, error) {
	p, err := c.network()
	if err != nil {
		return nil, err
	}
	s, err := c.text(0, "test", "")
	if err != nil {
		return nil, err
	}
	other, _, ok := parseAddress(s)
	if !ok {
		return nil, fmt.Errorf("%q is no address and no network", s)
	}
	return p.Masked().Contains(other.Addr()) && other.Bits() >= p.Bits(), nil
}
