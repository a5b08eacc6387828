package jsontypes

import (
	"encoding/json"
	"math"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type embedded struct {
	Inner string `json:"inner"`
}

type text string

type sample struct {
	embedded
	Text     string            `json:"text"`
	Named    text              `json:"named"`
	Flag     bool              `json:"flag"`
	Whole    int64             `json:"whole"`
	Small    uint16            `json:"small"`
	Float    float64           `json:"float"`
	Round    float64           `json:"round"`
	List     []text            `json:"list"`
	Empty    []string          `json:"empty"`
	Nil      []string          `json:"nil"`
	Omitted  []string          `json:"omitted,omitempty"`
	Zero     time.Time         `json:"zero,omitzero"`
	Map      map[text]embedded `json:"map"`
	NilMap   map[string]int    `json:"nil_map"`
	Pointer  *embedded         `json:"pointer"`
	Nothing  *embedded         `json:"nothing"`
	Any      any               `json:"any"`
	Address  netip.Addr        `json:"address"`
	Time     time.Time         `json:"time"`
	Duration time.Duration     `json:"duration"`
	Raw      json.RawMessage   `json:"raw"`
	Bytes    []byte            `json:"bytes"`
	Numbers  map[int]string    `json:"numbers"`
	Unnamed  string
	Array    [2]int `json:"array"`
	Left     string `json:"-"`
	unseen   string
}

func newSample() sample {
	return sample{embedded: embedded{"in"}, Text: "a", Named: "b", Flag: true, Whole: 1 << 40, Small: 9, Float: 1.5, Round: 1e6,
		List: []text{"x", "y"}, Empty: []string{}, Map: map[text]embedded{"k": {"v"}}, Pointer: &embedded{"p"},
		Any: map[string]any{"n": 3, "l": []any{1.0, "s", nil}}, Address: netip.MustParseAddr("10.0.0.1"),
		Time: time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC), Duration: time.Second, Raw: json.RawMessage(`{"a":[1,2.5]}`),
		Bytes: []byte("hi"), Numbers: map[int]string{1: "one"}, Unnamed: "u", Array: [2]int{1, 2}, Left: "left", unseen: "unseen"}
}

// TestFromGoIsJSON compares FromGo with encoding to JSON and decoding again.
func TestFromGoIsJSON(t *testing.T) {
	t.Parallel()
	s := newSample()
	for name, v := range map[string]any{"struct": s, "pointer": &s, "zero": sample{}, "list": []sample{s, {}}, "nil": nil,
		"map": map[string]any{"a": &s, "b": []int{1}}, "text": text("x"), "number": uint8(7)} {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var decoded any
		if err := json.Unmarshal(raw, &decoded); err != nil {
			t.Fatal(err)
		}
		want := Normalize(decoded)
		got, err := FromGo(v)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-JSON +FromGo)\n%s", name, diff)
		}
	}
}

func TestFromGoWithoutForm(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]any{"function": struct{ F func() }{func() {}}, "channel": []chan int{nil}, "complex": complex(1, 2)} {
		if got, err := FromGo(v); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got, err := FromGo(math.MaxInt64); err != nil || got != math.MaxInt64 {
		t.Errorf("a large whole number: %v, %v", got, err)
	}
}
