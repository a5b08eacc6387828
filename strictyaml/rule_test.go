package strictyaml

import (
	"strings"
	"testing"
)

// TestRulesOfDecodedValues: rules of texts, of keys and of numbers are checked with the place of
// the value; what is a template is not checked.
func TestRulesOfDecodedValues(t *testing.T) {
	type inner struct {
		Mode    string            `yaml:"mode" rule:"mode"`
		Names   []string          `yaml:"names" rule:"in:a,b"`
		Texts   Texts             `yaml:"texts" rule:"in:a,b"`
		Headers map[string]string `yaml:"headers" rule:"line" keys:"token"`
		Share   float64           `yaml:"share" range:"0..1"`
		Port    int               `yaml:"port" range:"1..65535"`
	}
	for text, want := range map[string]string{
		`{mode: "0644", names: [a, b], headers: {A-B: c}, share: 0.5, port: 1}`:                             "",
		`{mode: "{{ x }}", names: ["{{ x }}"], headers: {A: "{{ x }}"}, share: "{{ x }}", port: "{{ x }}"}`: "",
		`{mode: rw}`:              `f:1:8: mode: want an octal mode such as "0644", got "rw"`,
		`{names: [a, c]}`:         `f:1:13: names: want one of a, b, got "c"`,
		`{texts: [a, "{{ x }}"]}`: "",
		`{texts: [c, "{{ x }}"]}`: `f:1:10: texts: want one of a, b, got "c"`,
		`{names: [c, "{{ x }}"]}`: `f:1:10: names: want one of a, b, got "c"`,
		`{headers: {"a b": c}}`:   `f:1:12: headers: want a name of HTTP, such as GET or Content-Type, got the key "a b"`,
		`{headers: {"": c}}`:      `f:1:12: headers: want a name of HTTP, such as GET or Content-Type, got the key ""`,
		`{headers: {A: "a\nb"}}`:  `headers.A: want a text in one line`,
		`{share: 1.5}`:            `share: want a value from 0 to 1, got "1.5"`,
		`{share: .nan}`:           `share: want`,
		`{port: 0}`:               `port: want a value from 1 to 65535, got "0"`,
	} {
		root, err := Parse("f", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		err = CheckKeys("f", root, &inner{})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
