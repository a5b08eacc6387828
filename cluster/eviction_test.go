package cluster

import "testing"

func TestEvictionShare(t *testing.T) {
	hard := func(thresholds map[string]any) map[string]any { return map[string]any{"evictionHard": thresholds} }
	merged := hard(map[string]any{"memory.available": "1Gi"})
	merged["mergeDefaultEvictionSettings"] = true
	for name, c := range map[string]struct {
		config map[string]any
		want   float64
	}{
		"the kubelet's default":               {map[string]any{}, 15},
		"a share":                             {hard(map[string]any{"imagefs.available": "7.5%"}), 7.5},
		"bytes":                               {hard(map[string]any{"imagefs.available": "5Gi"}), 0},
		"other signals only":                  {hard(map[string]any{"nodefs.available": "5%"}), 0},
		"other signals, with defaults merged": {merged, 15},
		"not a number":                        {hard(map[string]any{"imagefs.available": "much%"}), 0},
	} {
		if got := evictionShare(Node{KubeletConfig: c.config}, "imagefs.available", 15); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
