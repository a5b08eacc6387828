package componentconfig

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
)

// number is a setting with the bounds that its component enforces.
type number struct {
	key       string
	value     int64
	low, high int64
}

func (k *checker) numbers(all []number) {
	for _, n := range all {
		switch {
		case n.value >= n.low && n.value <= n.high:
		case n.high == unbounded:
			k.add(split(n.key), "%d is too small: use at least %d", n.value, n.low)
		default:
			k.add(split(n.key), "%d is out of range: use %d to %d", n.value, n.low, n.high)
		}
	}
}

const unbounded = 1<<63 - 1

// choice is a setting that is one of a few words; empty means the default.
type choice struct {
	key, value string
	words      []string
}

func (k *checker) choices(all []choice) {
	for _, c := range all {
		if c.value != "" && !slices.Contains(c.words, c.value) {
			k.add(split(c.key), "%q is unknown: use %s", c.value, strings.Join(c.words, ", "))
		}
	}
}

// split turns the path of a setting, whose keys have no dots, into its keys.
func split(key string) []string { return strings.Split(key, ".") }

// pointed returns the number behind a pointer, or the default without one.
func pointed[T int32 | int64 | int](p *T, byDefault int64) int64 {
	if p == nil {
		return byDefault
	}
	return int64(*p)
}

func (k *checker) address(key, value string) {
	if _, err := netip.ParseAddr(value); value != "" && err != nil {
		k.add(split(key), "%q is not an IP address", value)
	}
}

func (k *checker) addressPort(key, value string) {
	if value == "" {
		return
	}
	host, port, err := net.SplitHostPort(value)
	if err == nil {
		_, err = netip.ParseAddr(host)
	}
	if n, bad := strconv.Atoi(port); err != nil || bad != nil || n < 1 || n > 65535 {
		k.add(split(key), "%q is not an address with a port, such as 127.0.0.1:10249", value)
	}
}

func (k *checker) ranges(key string, list []string) {
	for i, value := range list {
		if _, err := netip.ParsePrefix(value); err != nil {
			k.add(childPath(split(key), "["+strconv.Itoa(i)+"]"), "%q is not a range of addresses such as 10.0.0.0/16", value)
		}
	}
}

// notNegative reports durations below zero.
func (k *checker) notNegative(all map[string]v1.Duration) {
	for _, key := range sorted(all) {
		if d := all[key].Duration; d < 0 {
			k.add(split(key), "%s is negative", d)
		}
	}
}
