package plot

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestSVG(t *testing.T) {
	text := SVG([]Panel{
		{Title: "time, s", Lines: []Line{{"a", Blue, []Point{{10, 1}, {100, 3}}}, {"b", Green, []Point{{10, 2}}}}},
		{Title: "time, min", Log: true, Lines: []Line{{"a", Blue, []Point{{10, 0.05}, {100, 0}, {1000, 220}}}}},
	}, 2)
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
	}
	if got := strings.Count(text, "<circle"); got != 5 {
		t.Errorf("%d points, want 5: a logarithmic axis has no 0", got)
	}
	if got := strings.Count(text, ">a</text>"); got != 1 {
		t.Errorf("line a is %d times in the legend", got)
	}
	// 3 of 4 on the axis, which ends at 30 above the bottom of 190 and at 30 below the top.
	if !strings.Contains(text, `cx="286.0" cy="62.5"`) {
		t.Error("the point (100, 3) is not where the axis has it:\n", text)
	}
	for _, label := range []string{">0.01<", ">1000<", ">4<"} {
		if !strings.Contains(text, label) {
			t.Errorf("no label %s", label)
		}
	}
}

func TestRoundUp(t *testing.T) {
	for v, want := range map[float64]float64{0: 1, 0.3: 0.4, 1: 1, 55: 80, 81: 100, 4950: 8000} {
		if got := roundUp(v); got < want*0.999 || got > want*1.001 {
			t.Errorf("roundUp(%g) = %g, want %g", v, got, want)
		}
	}
}
