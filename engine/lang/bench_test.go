package lang

import (
	"fmt"
	"testing"
)

// BenchmarkTexts renders the texts of one task for 1000 hosts; they are compiled once.
func BenchmarkTexts(b *testing.B) {
	texts := make([]*Interpolation, 0, 3)
	for _, src := range []string{"/etc/{{ host.name }}.conf", "{{ host.address }}:{{ port | default(80) }}", "{{ tags | map(attribute='name') | join(',') }}"} {
		t, err := CompileInterpolation(src, Origin{})
		if err != nil {
			b.Fatal(err)
		}
		texts = append(texts, t)
	}
	hosts := make([]map[string]any, 1000)
	for i := range hosts {
		hosts[i] = map[string]any{"host": map[string]any{"name": fmt.Sprintf("h%d", i), "address": "10.0.0.1"},
			"tags": []any{map[string]any{"name": "a"}, map[string]any{"name": "b"}}}
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, vars := range hosts {
			for _, t := range texts {
				if _, err := t.Text(vars); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
}
