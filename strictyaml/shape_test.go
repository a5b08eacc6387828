package strictyaml_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"deployer/strictyaml"
)

type Embedded struct {
	Name string `yaml:"name" required:"true" doc:"the name"`
	Kind string `yaml:"kind" enum:"a,b" default:"a"`
}

type every struct {
	*Embedded
	Port    int                              `yaml:"port" default:"22"`
	Count   uint16                           `yaml:"count"`
	Ratio   float32                          `yaml:"ratio"`
	Wait    time.Duration                    `yaml:"wait" default:"10s"`
	On      *bool                            `yaml:"on" default:"true"`
	Free    any                              `yaml:"free"`
	Raw     yaml.Node                        `yaml:"raw"`
	Lists   [][]string                       `yaml:"lists"`
	Parts   []Embedded                       `yaml:"parts"`
	Named   strictyaml.Map[Embedded]         `yaml:"named" each:"part"`
	Section strictyaml.Section[Embedded]     `yaml:"section"`
	Tree    *every                           `yaml:"tree"`
	Level   level                            `yaml:"level"`
	Rest    map[string]int                   `yaml:",inline"`
	Hidden  string                           `yaml:"-"`
	private string                           //nolint:unused // shows that it is passed over
	Deep    map[string]map[string][]Embedded `yaml:"deep"`
}

func TestInlineAndRest(t *testing.T) {
	var v every
	err := decode(t, "name: x\nother: 3\nmore: 4\nport: 1\nsection: {name: y}\n", &v)
	if err != nil {
		t.Fatal(err)
	}
	if v.Embedded == nil || v.Name != "x" || v.Section.Value.Name != "y" || v.Section.Node == nil {
		t.Errorf("got %+v", v)
	}
	if diff := cmp.Diff(map[string]int{"other": 3, "more": 4}, v.Rest); diff != "" {
		t.Error(diff)
	}
	err = decode(t, "name: x\nother: y\n", &v)
	if err == nil || err.Error() != `inventory.yaml:2:8: other: want a whole number, got "y"` {
		t.Errorf("got %v", err)
	}
}

// TestSchemaAgreesWithDecode checks that the schema accepts exactly the documents that
// Decode accepts.
func TestSchemaAgreesWithDecode(t *testing.T) {
	text, err := json.Marshal(strictyaml.Schema(every{}))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("s.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("s.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"{}", "name: x", "name: ", "name: 1.5", "name: [x]", "name: x\nkind: a", "name: x\nkind: c", "name: x\nkind: ",
		"name: x\nport: 1", "name: x\nport: 1.5", "name: x\nport: ", "name: x\nport: '1'",
		"name: x\ncount: -1", "name: x\ncount: 3", "name: x\nratio: 1.5", "name: x\nratio: 1", "name: x\nratio: a",
		"name: x\nwait: 1h2m3.5s", "name: x\nwait: '0'", "name: x\nwait: 5", "name: x\nwait: soon", "name: x\nwait: 5 s",
		"name: x\non: false", "name: x\non: off", "name: x\nfree: [{a: 1}, b]", "name: x\nraw: {a: 1}",
		"name: x\nlists: [[a, 1], []]", "name: x\nlists: [a]", "name: x\nparts: [{name: a}]", "name: x\nparts: [{}]", "name: x\nparts: {}",
		"name: x\nnamed: {p: {name: a}}", "name: x\nnamed: {p: {nmae: a}}", "name: x\nnamed: [p]", "name: x\nsection: {name: 1}", "name: x\nsection: {}",
		"name: x\nlevel: high", "name: x\nextra: 5", "name: x\nextra: text",
		"name: x\ndeep: {a: {b: [{name: c}]}}", "name: x\ndeep: {a: {b: [{nom: c}]}}", "[]", "x",
	} {
		var v every
		byDecode := decode(t, text, &v)
		var free any
		if err := decode(t, text, &free); err != nil {
			t.Fatal(err)
		}
		j, err := json.Marshal(free)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(j))
		if err != nil {
			t.Fatal(err)
		}
		bySchema := schema.Validate(doc)
		if (byDecode == nil) != (bySchema == nil) {
			t.Errorf("%q\nDecode: %v\nschema: %v", text, byDecode, bySchema)
		}
	}
}

func TestDescribe(t *testing.T) {
	var got []string
	for _, k := range strictyaml.Describe(every{}) {
		line := k.Path + ": " + k.Type
		if k.Required {
			line += ", required"
		}
		if k.Default != "" {
			line += ", default " + k.Default
		}
		got = append(got, line)
	}
	want := `port: whole number, default 22
count: whole number
ratio: number
wait: duration, default 10s
on: true or false, default true
free: any
raw: any
lists: list of list of text
parts: list of mapping
parts[].name: text, required
parts[].kind: text, default a
named: mapping of mapping
named.NAME.name: text, required
named.NAME.kind: text, default a
section: mapping
section.name: text, required
section.kind: text, default a
tree: mapping
level: any
deep: mapping of mapping of list of mapping
deep.NAME.NAME[].name: text, required
deep.NAME.NAME[].kind: text, default a
name: text, required
kind: text, default a`
	if diff := cmp.Diff(strings.Split(want, "\n"), got); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeOfNodesThatKeepAliases(t *testing.T) {
	var n yaml.Node
	if err := yaml.Unmarshal([]byte("named:\n  a: &a {name: x}\n  b: *a\n  c: {<<: *a, kind: b}\nname: y\n"), &n); err != nil {
		t.Fatal(err)
	}
	var v every
	if err := strictyaml.Decode("f", &n, &v); err != nil {
		t.Fatal(err)
	}
	c, ok := v.Named.Get("c")
	if b, _ := v.Named.Get("b"); !ok || b.Name != "x" || c != (Embedded{"x", "b"}) {
		t.Errorf("got %+v", v.Named)
	}
	if _, ok := v.Named.Get("d"); ok {
		t.Error("d was never given")
	}
}

func TestDecodeWantsAPointer(t *testing.T) {
	for _, into := range []any{every{}, (*every)(nil)} {
		if err := strictyaml.Decode("f", &yaml.Node{}, into); err == nil {
			t.Errorf("decoded into %T", into)
		}
	}
	var v struct {
		A int `yaml:"a" required:"true"`
	}
	if err := strictyaml.DecodeAs("f", "task x", nil, &v); err == nil || err.Error() != `f: task x: key "a" is required` {
		t.Errorf("got %v", err)
	}
	var bad struct {
		A chan int       `yaml:"a"`
		B map[int]string `yaml:"b"`
		C error          `yaml:"c"`
	}
	if err := decode(t, "a: 1\nb: {1: x}\nc: x\n", &bad); err == nil || strings.Count(err.Error(), "cannot decode into") != 3 {
		t.Errorf("got %v", err)
	}
}

func TestSuggest(t *testing.T) {
	words := []string{"address", "port", "host_keys", "os", "known_hosts"}
	for word, want := range map[string]string{"adress": "address", "addresss": "address", "adrdess": "address", "prot": "port",
		"PORT": "port", "ip": "", "so": "os", "host": "host_keys", "known_hosts_file": "known_hosts", "zzz": "", "": ""} {
		if got := strictyaml.Suggest(word, words); got != want {
			t.Errorf("%s: got %q, want %q", word, got, want)
		}
	}
	if got := strictyaml.DidYouMean("zzz", strings.Fields("a b c d e f g h i j k l m n o p q")); got != "" {
		t.Errorf("too many words to list: %s", got)
	}
}

func TestJoin(t *testing.T) {
	if err := strictyaml.Join(nil, nil); err != nil {
		t.Errorf("nothing joined is %v", err)
	}
	a := strictyaml.Pos{File: "f", Line: 2, Col: 3}.Errorf("later")
	b := strictyaml.Pos{File: "f", Line: 1}.Errorf("first")
	err := strictyaml.Join(strictyaml.Errors{a, b}, a, errors.New("no place"))
	if want := "no place\nf:1: first\nf:2:3: later"; err.Error() != want {
		t.Errorf("got %v", err)
	}
	var one *strictyaml.Error
	if !errors.As(err, &one) || one.Msg != "no place" {
		t.Errorf("errors.As finds %v", one)
	}
}
