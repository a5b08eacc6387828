package strictyaml_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"deployer/strictyaml"
)

type base struct {
	Address string `yaml:"address" required:"true" doc:"where the host answers"`
	Port    int    `yaml:"port"`
}

type level string

func (l *level) UnmarshalYAML(n *yaml.Node) error {
	if n.Value != "low" && n.Value != "high" {
		return errors.New("want low or high")
	}
	*l = level(n.Value)
	return nil
}

type host struct {
	base    `yaml:",inline"`
	Timeout time.Duration     `yaml:"timeout"`
	Sudo    *bool             `yaml:"sudo"`
	Labels  map[string]string `yaml:"labels"`
	Keys    string            `yaml:"host_keys" enum:"strict,accept-new"`
	IP      netip.Addr        `yaml:"ip"`
	Level   level             `yaml:"level"`
	Small   uint8             `yaml:"small"`
	Ratio   float64           `yaml:"ratio"`
}

type doc struct {
	Hosts map[string]host      `yaml:"hosts" each:"host"`
	List  []base               `yaml:"list"`
	Raw   yaml.Node            `yaml:"raw"`
	Later *yaml.Node           `yaml:"later"`
	Free  map[string]any       `yaml:"free"`
	Order strictyaml.Map[base] `yaml:"order" each:"entry"`
	Text  string               `yaml:"text"`
}

func decode(t *testing.T, text string, into any) error {
	t.Helper()
	n, err := strictyaml.Parse("inventory.yaml", []byte(text))
	if err != nil {
		return err
	}
	return strictyaml.Decode("inventory.yaml", n, into)
}

func TestDecodeValues(t *testing.T) {
	const text = `
hosts:
  m1: {address: a, port: 0x10, timeout: 1m30s, sudo: false, labels: {1: true, b: 0644}, host_keys: strict, ip: "::1", level: low, small: 255, ratio: 1}
list: [{address: b}]
raw: {x: 1}
free: {a: 1, b: [1.5, yes, true, ~, 2026-01-02], c: {d: "4"}, e: {}, f: 9999999999999999999}
order: {z: {address: 1}, a: {address: 2}}
text: 1.10
`
	var d doc
	if err := decode(t, text, &d); err != nil {
		t.Fatal(err)
	}
	m1 := d.Hosts["m1"]
	if m1.Sudo == nil || *m1.Sudo {
		t.Errorf("sudo = %v, want false", m1.Sudo)
	}
	m1.Sudo = nil
	want := host{base: base{"a", 16}, Timeout: 90 * time.Second, Labels: map[string]string{"1": "true", "b": "0644"},
		Keys: "strict", IP: netip.IPv6Loopback(), Level: "low", Small: 255, Ratio: 1}
	if diff := cmp.Diff(want, m1, cmp.AllowUnexported(host{}), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	wantFree := map[string]any{"a": 1, "b": []any{1.5, "yes", true, nil, "2026-01-02"}, "c": map[string]any{"d": "4"},
		"e": map[string]any{}, "f": uint64(9999999999999999999)}
	if diff := cmp.Diff(wantFree, d.Free); diff != "" {
		t.Error(diff)
	}
	if d.Text != "1.10" || d.Raw.Kind != yaml.MappingNode || d.Later != nil {
		t.Errorf("text %q, raw kind %d, later %v", d.Text, d.Raw.Kind, d.Later)
	}
	if diff := cmp.Diff([]string{"z", "a"}, d.Order.Keys()); diff != "" {
		t.Error(diff)
	}
	if got := d.Order[1].Pos; got.Line != 7 || got.Col != 26 {
		t.Errorf("position of order.a = %v", got)
	}
}

func TestDecodeErrors(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"unknown key":       {"hosts:\n  m1: {address: a, adress: b}", `2:20: unknown key "adress" in host m1; did you mean "address"?`},
		"unknown at top":    {"hots: {}", `1:1: unknown key "hots"; did you mean "hosts"?`},
		"unknown, far":      {"list: [{address: a, zzzz: 1}]", `1:21: unknown key "zzzz" in list[0]; known here: address, port`},
		"prefix":            {"hosts:\n  m1: {address: a, host: b}", `2:20: unknown key "host" in host m1; did you mean "host_keys"?`},
		"duplicate":         {"hosts:\n  m1: {address: a}\n  m1: {address: b}", `3:3: key "m1" is given twice in hosts; first on line 2`},
		"whole number":      {"hosts:\n  m1: {address: a, port: three}", `2:26: port of host m1: want a whole number, got "three"`},
		"fraction":          {"list: [{address: a, port: 1.5}]", `1:27: list[0].port: want a whole number, got "1.5"`},
		"overflow":          {"hosts: {m: {address: a, small: 256}}", `1:32: small of host m: want a smaller whole number, got "256"`},
		"negative":          {"hosts: {m: {address: a, small: -1}}", `1:32: small of host m: want a whole number that is not negative, got "-1"`},
		"required":          {"list:\n- port: 1", `2:3: list[0]: key "address" is required: where the host answers`},
		"required, null":    {"list:\n- address:\n", `2:3: list[0]: key "address" is required: where the host answers`},
		"required, no body": {"hosts:\n  m1:\n", `2:6: host m1: key "address" is required: where the host answers`},
		"bool":              {"hosts: {m: {address: a, sudo: yes}}", `1:31: sudo of host m: want true or false, got "yes"; write true`},
		"duration":          {"hosts: {m: {address: a, timeout: 10}}", `1:34: timeout of host m: want a duration such as 500ms, 10s or 1h30m, got "10"; write 10s`},
		"enum":              {"hosts: {m: {address: a, host_keys: strickt}}", `1:36: host_keys of host m: want one of strict, accept-new, got "strickt"; did you mean "strict"?`},
		"text":              {"hosts: {m: {address: a, ip: 1.2.3}}", `1:29: ip of host m: ParseAddr("1.2.3"): IPv4 address too short`},
		"own":               {"hosts: {m: {address: a, level: mid}}", `1:32: level of host m: want low or high`},
		"list for mapping":  {"hosts: [a]", `1:8: hosts: want a mapping, got a list`},
		"mapping for list":  {"list: {a: 1}", `1:7: list: want a list, got a mapping`},
		"mapping for text":  {"text: {a: 1}", `1:7: text: want text, got a mapping`},
		"template":          {"text: a\nfree: {a: {{ b }}}", `2:12: free.a: a value that begins with {{ needs quotes around it`},
		"key a list":        {"free: {[a]: 1}", `1:8: free: a key must be a word, not a list`},
		"tag":               {"text: !foo a", `1:7: text: tag !foo is not known here`},
		"tag of mapping":    {"free: !foo {a: 1}", `1:7: free: tag !foo is not known here`},
		"not finite":        {"free: {a: .inf}", `1:11: free.a: want a finite number, got ".inf"`},
		"two documents":     {"text: a\n---\ntext: b\n", `3:1: a second document starts here; one file holds one document: remove the line with ---, or use two files`},
		"tab":               {"hosts:\n\tm1: {}", `2:1: not YAML: indented with a tab; use spaces`},
		"range in list":     {"text: a\nlist: [m1, n[1:3]]", `2:12: not YAML: a range inside [ ] or { } needs quotes: "n[1:3]"; or write the list with dashes`},
		"range further up":  {"text: a, n[1:3]\nlist: [a, b\nraw: x", `2: not YAML: did not find expected ',' or ']'`},
		"range below":       {"text: a\nlist: [m1,\n  n[1:3]]", `3:3: not YAML: a range inside [ ] or { } needs quotes: "n[1:3]"; or write the list with dashes`},
		"anchor":            {"a: 1\ntext: *up", `2:7: unknown anchor "up"; define it with &up further up, or quote the value if the * is part of it`},
		"colon":             {"text: a: b", `1: not YAML: mapping values are not allowed in this context; check the indentation, and quote values that contain a colon and a space`},
		"unclosed":          {"text: a\nlist: [a\n", `2: not YAML: did not find expected ',' or ']'`},
		"cycle":             {"free: &x {a: *x}", `1:7: this value contains itself through an alias`},
		"merge of text":     {"free: {<<: a}", `1:8: << wants a mapping, or a list of mappings, to merge`},
		"root":              {"- a", `1:1: want a mapping, got a list`},
	} {
		t.Run(name, func(t *testing.T) {
			var d doc
			err := decode(t, c.text, &d)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff("inventory.yaml:"+c.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAllErrorsTogetherInOrder(t *testing.T) {
	var d doc
	err := decode(t, "list: [{address: a, port: x}]\nhosts: {m: {port: y}}\nzz: 1\n", &d)
	var errs strictyaml.Errors
	if !errors.As(err, &errs) || len(errs) != 4 {
		t.Fatalf("want 4 errors, got %v", err)
	}
	for i, prefix := range []string{"inventory.yaml:1:27", "inventory.yaml:2:12", "inventory.yaml:2:19", "inventory.yaml:3:1"} {
		if !strings.HasPrefix(errs[i].Error(), prefix) {
			t.Errorf("error %d is %q, want it at %s", i, errs[i], prefix)
		}
	}
}

func TestAnchorsAndMergeKeys(t *testing.T) {
	const text = `
free: &free {port: 1, address: x}
hosts:
  a: {<<: *free, port: 2}
  b: {<<: [{address: first}, *free]}
  c: *free
`
	var d doc
	if err := decode(t, text, &d); err != nil {
		t.Fatal(err)
	}
	got := map[string]base{}
	for name, h := range d.Hosts {
		got[name] = h.base
	}
	want := map[string]base{"a": {"x", 2}, "b": {"first", 1}, "c": {"x", 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAliasBombIsRefused(t *testing.T) {
	text := "free:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 12; i++ {
		a, b := string(rune('a'+i)), string(rune('a'+i-1))
		if i == 1 {
			b = "a0"
		}
		text += "  " + a + ": &" + a + " [" + strings.Repeat("*"+b+", ", 9) + "*" + b + "]\n"
	}
	var d doc
	err := decode(t, text, &d)
	if err == nil || !strings.Contains(err.Error(), "larger than 2000000 values") {
		t.Fatalf("got %v", err)
	}
}

func TestDefaultsStay(t *testing.T) {
	h := host{base: base{Port: 22}, Keys: "strict"}
	if err := decode(t, "address: a\nhost_keys:\n", &h); err != nil {
		t.Fatal(err)
	}
	if h.Port != 22 || h.Keys != "strict" {
		t.Errorf("defaults were lost: %+v", h)
	}
}

func TestEmptyDocument(t *testing.T) {
	for _, text := range []string{"", "# only a comment\n", "---\n", "a: 1\n---\n"} {
		var free map[string]any
		if err := decode(t, text, &free); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestCheckKeys(t *testing.T) {
	for text, want := range map[string]string{
		`{address: "{{ a }}", port: "{{ p }}", timeout: "{{ t }}", labels: "{{ l }}", level: "{{ x }}"}`: "",
		`{adress: "{{ a }}", address: x}`: `f:1:2: unknown key "adress"; did you mean "address"?`,
		`{port: x, address: "{{ a }}"}`:   `f:1:8: port: want a whole number, got "x"`,
		`{port: "{{ p }}"}`:               `f:1:1: key "address" is required: where the host answers`,
	} {
		n, err := strictyaml.Parse("f", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := strictyaml.CheckKeys("f", n, &host{}); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestNestedErrorsOfOwnDecodersKeepTheirPlace(t *testing.T) {
	var v struct {
		One nested `yaml:"one"`
	}
	err := decode(t, "one:\n  addres: 1\n", &v)
	want := "inventory.yaml:2:3: key \"address\" is required: where the host answers\n" +
		"inventory.yaml:2:3: unknown key \"addres\"; did you mean \"address\"?"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

type nested struct{ b base }

func (x *nested) UnmarshalYAML(n *yaml.Node) error { return strictyaml.Decode("", n, &x.b) }
