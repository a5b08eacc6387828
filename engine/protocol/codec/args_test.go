package codec

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type module struct {
	Path, Content string
	Mode          string
	Force         *bool
	Paths         []string
	Retries       int
	Env           map[string]string
	hidden        int //nolint:unused // unexported: Args must leave it out
}

type inner struct{ Path string }

type special struct {
	inner
	Mode string
}

type tagged struct {
	Path string `json:"p"`
}

type spoken struct{ Path string }

func (s *spoken) MarshalJSON() ([]byte, error) { return json.Marshal([]string{s.Path}) }

func TestArgs(t *testing.T) {
	no := false
	for name, tt := range map[string]struct {
		args, fresh any
		want        string
	}{
		"all fields have their defaults":           {&module{}, &module{}, `{}`},
		"some fields are set":                      {&module{Path: "/a\n<é>", Force: &no, Paths: []string{}}, &module{}, `{"Path":"/a\n<é>","Force":false,"Paths":[]}`},
		"fields equal to the defaults of the kind": {&module{Retries: 3}, &module{Retries: 3}, `{"Retries":3}`},
		"default is reset to zero":                 {&module{Path: "/a"}, &module{Retries: 3}, `{"Path":"/a","Retries":0}`},
		"embedded struct":                          {&special{Mode: "a"}, &special{}, `{"Path":"","Mode":"a"}`},
		"JSON tags":                                {&tagged{}, &tagged{}, `{"p":""}`},
		"type with its own JSON encoding":          {&spoken{"a"}, &spoken{}, `["a"]`},
		"another type":                             {&tagged{}, &module{}, `{"p":""}`},
		"no struct":                                {map[string]int{"a": 0}, &module{}, `{"a":0}`},
	} {
		got, err := Args(tt.args, tt.fresh)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, tt.want)
		}
	}
	if _, err := Args(&struct{ F func() }{func() {}}, &struct{ F func() }{}); err == nil {
		t.Error("a function was written as JSON")
	}
}

// FuzzArgs checks that the host gets the arguments that were sent, whatever the
// defaults of its module are.
func FuzzArgs(f *testing.F) {
	f.Add([]byte(`{"Path":"/a","Force":true,"Paths":["b"],"Env":{"A":"1"}}`), []byte(`{"Mode":"0644","Retries":3}`))
	f.Fuzz(func(t *testing.T, args, fresh []byte) {
		var want, got, again module
		if json.Unmarshal(args, &want) != nil || json.Unmarshal(fresh, &got) != nil || json.Unmarshal(fresh, &again) != nil || len(got.Env) > 0 {
			return // entries of a default map stay in it; no module has such a default
		}
		raw, err := Args(&want, &again)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(module{})); diff != "" {
			t.Errorf("%s (- want, + got):\n%s", raw, diff)
		}
	})
}
