package htmlpage

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
)

var colorVar = regexp.MustCompile(`--([a-z]+): #([0-9a-f]{6});`)

// TestContrast computes the contrasts of WCAG 2.2: 4.5 for texts (1.4.3), and 3 for lanes and
// the focus (1.4.11), in light and dark.
func TestContrast(t *testing.T) {
	t.Parallel()
	light, dark, ok := strings.Cut(style, "prefers-color-scheme: dark")
	if !ok {
		t.Fatal("the style has no dark colors")
	}
	for name, part := range map[string]string{"light": light, "dark": dark} {
		colors := map[string]float64{}
		for _, m := range colorVar.FindAllStringSubmatch(part, -1) {
			colors[m[1]] = luminance(t, m[2])
		}
		if len(colors) != 18 {
			t.Fatalf("%s: %d colors, want 18", name, len(colors))
		}
		for _, c := range []struct {
			fore  string
			backs string
			least float64
		}{
			{"text soft link good bad", "back panel", 4.5},
			{"failed unreachable cancelled ignored open changed ok wait path focus", "back panel", 3},
			{"failed", "back panel", 4.5}, // names of failed hosts
		} {
			for _, fore := range strings.Fields(c.fore) {
				for _, back := range strings.Fields(c.backs) {
					if got := contrast(colors[fore], colors[back]); got < c.least {
						t.Errorf("%s: %s on %s has a contrast of %.2f, want %g", name, fore, back, got, c.least)
					}
				}
			}
		}
	}
}

func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	var rgb [3]int
	if _, err := fmt.Sscanf(hex, "%02x%02x%02x", &rgb[0], &rgb[1], &rgb[2]); err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v := float64(rgb[i]) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}

func contrast(a, b float64) float64 { return (max(a, b) + 0.05) / (min(a, b) + 0.05) }
