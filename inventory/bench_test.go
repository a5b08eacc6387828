package inventory

import (
	"fmt"
	"strings"
	"testing"
)

// thousand returns an inventory of 1000 hosts: in ranges, as people write it, or
// listed with settings for each host, as a generator writes it.
func thousand(listed bool) []byte {
	var b strings.Builder
	b.WriteString("ssh: {user: ops, become: sudo}\nvars: {a: 1, b: {c: [1, 2, 3]}, d: text}\nhosts:\n  m[1:3]: {address: \"10.0.0.[1:3]\"}\n")
	if !listed {
		b.WriteString("  n[001:1000]: {address: \"10.1.[0:3].[1:250]\"}\n")
	}
	for i := 1; listed && i <= 1000; i++ {
		fmt.Fprintf(&b, "  n%03d: {address: 10.1.%d.%d, vars: {rack: %d, disk: sda, size: 100}, labels: {zone: a}, overrides: {kubelet: {maxPods: %d}}}\n",
			i, i/250, i%250+1, i%40, i)
	}
	b.WriteString("groups:\n")
	for i := range 40 {
		fmt.Fprintf(&b, "  rack%d: {hosts: \"n[%03d:%03d]\", vars: {rack: %d}}\n", i, i*25+1, i*25+25, i)
	}
	b.WriteString("roles: {master: \"m[1:3]\", minion: \"n[001:1000]\"}\n")
	return []byte(b.String())
}

func BenchmarkParse1000(b *testing.B) {
	for name, data := range map[string][]byte{"ranged": thousand(false), "listed": thousand(true)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse("inventory.yaml", data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
