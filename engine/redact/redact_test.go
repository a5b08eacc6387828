package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// alphabets are the characters of random secrets.
var alphabets = map[string]string{
	"letters": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
	"signs":   `'"\$<>&/+=?% !#*()[]{};:|~` + "`^@,.-_xyzXYZ019",
	"unicode": "äöüßéλЖ漢字🔑'\"<&abc123",
}

func random(r *rand.Rand, alphabet string, length int) string {
	runes := []rune(alphabet)
	var b strings.Builder
	for b.Len() < length {
		b.WriteRune(runes[r.IntN(len(runes))])
	}
	return b.String()
}

// encodings write a text as other programs do; they share no code with what is
// tested.
var encodings = map[string]func(t *testing.T, s string) string{
	"plain":      func(_ *testing.T, s string) string { return s },
	"shell":      func(_ *testing.T, s string) string { return "echo '" + strings.ReplaceAll(s, "'", `'\''`) + "'" },
	"json":       func(t *testing.T, s string) string { return marshalled(t, s, true) },
	"json plain": func(t *testing.T, s string) string { return marshalled(t, s, false) },
	"json in json": func(t *testing.T, s string) string {
		return marshalled(t, marshalled(t, map[string]string{"password": s}, true), false)
	},
	"yaml single": func(t *testing.T, s string) string { return asYAML(t, s, yaml.SingleQuotedStyle) },
	"yaml double": func(t *testing.T, s string) string { return asYAML(t, s, yaml.DoubleQuotedStyle) },
	"yaml plain":  func(t *testing.T, s string) string { return asYAML(t, s, 0) },
	"go":          func(_ *testing.T, s string) string { return strconv.Quote("the password " + s) },
	"query":       func(_ *testing.T, s string) string { return url.Values{"password": {s}}.Encode() },
	"path":        func(_ *testing.T, s string) string { return "https://example.com/" + url.PathEscape(s) + "/x" },
	"userinfo": func(_ *testing.T, s string) string {
		return (&url.URL{Scheme: "https", Host: "h", User: url.UserPassword("ann", s)}).String()
	},
	"html":       func(_ *testing.T, s string) string { return "<b>" + html.EscapeString(s) + "</b>" },
	"hex":        func(_ *testing.T, s string) string { return hex.EncodeToString([]byte(s)) },
	"base64":     func(_ *testing.T, s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64 raw": func(_ *testing.T, s string) string { return base64.RawStdEncoding.EncodeToString([]byte(s)) },
	"base64 url": func(_ *testing.T, s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	"basic":      func(_ *testing.T, s string) string { return base64.StdEncoding.EncodeToString([]byte("ann:" + s)) },
	"basic 2":    func(_ *testing.T, s string) string { return base64.StdEncoding.EncodeToString([]byte("bo:" + s)) },
	"basic 3":    func(_ *testing.T, s string) string { return base64.URLEncoding.EncodeToString([]byte("a:" + s + ":x")) },
	"base64 lines": func(_ *testing.T, s string) string {
		return wrap("  ", base64.StdEncoding.EncodeToString([]byte(s+s+s+s)), 16)
	},
	"base64 diff": func(_ *testing.T, s string) string {
		return wrap("+ ", base64.StdEncoding.EncodeToString([]byte(s+s)), 10)
	},
}

func marshalled(t *testing.T, v any, forHTML bool) string {
	t.Helper()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(forHTML)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func asYAML(t *testing.T, s string, style yaml.Style) string {
	t.Helper()
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: style}
	out, err := yaml.Marshal(map[string]*yaml.Node{"password": node})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func wrap(indent, s string, width int) string {
	var b strings.Builder
	for len(s) > 0 {
		n := min(width, len(s))
		b.WriteString(indent + s[:n] + "\n")
		s = s[n:]
	}
	return b.String()
}

// TestNoEncodingGetsThrough: every encoding of a secret is redacted in the middle of other
// text, and the other text stays.
func TestNoEncodingGetsThrough(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for alphabet, letters := range alphabets {
		for range 30 {
			secret := random(r, letters, 8+r.IntN(24))
			set := NewSet(secret, random(r, letters, 12))
			for name, encode := range encodings {
				text := encode(t, secret)
				got := set.Text("before " + text + " behind")
				if !strings.Contains(got, Mark) || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " behind") {
					t.Errorf("%s, %s: %q became %q", alphabet, name, text, got)
				}
				if left := leftOf(inner(text, encode(t, random(r, "#", 9))), got); len(left) > 5 {
					t.Errorf("%s, %s: %q is left of %q: %q", alphabet, name, left, text, got)
				}
			}
		}
	}
}

// inner is a text without what it has in common with another at its beginning and
// its end: what an encoding puts around what it encodes.
func inner(text, other string) string {
	for text != "" && other != "" && text[0] == other[0] {
		text, other = text[1:], other[1:]
	}
	for text != "" && other != "" && text[len(text)-1] == other[len(other)-1] {
		text, other = text[:len(text)-1], other[:len(other)-1]
	}
	return text
}

// leftOf is the longest part of text that is also in got.
func leftOf(text, got string) string {
	longest := ""
	for i := range len(text) {
		for n := len(longest) + 1; i+n <= len(text) && strings.Contains(got, text[i:i+n]); n++ {
			longest = text[i : i+n]
		}
	}
	return longest
}

// TestCuts: wherever a text is cut and marked so, no part of a secret of 4 bytes or
// more stays.
func TestCuts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for alphabet, letters := range alphabets {
		for range 8 {
			secret := random(r, letters, 12+r.IntN(12))
			set := NewSet(secret)
			for name, encode := range encodings {
				if strings.Contains(name, "lines") || strings.Contains(name, "diff") {
					continue
				}
				text := encode(t, secret)
				text = strings.TrimRight(text, "\n")
				at := strings.Index(text, "password") + 1
				for cut := at; cut < len(text); cut++ {
					for what, got := range map[string]string{
						"end":    set.Text(valid(text[:cut]) + "..."),
						"middle": set.Text("x " + valid(text[:cut]) + "\n[... 12 bytes left out ...]\n and more"),
						"begin":  set.Text("[... 7 bytes left out ...]\n" + valid(text[cut:])),
					} {
						kept := text[:cut]
						if what == "begin" {
							kept = text[cut:]
						}
						if part := sharedWith(secret, kept, got); len(part) > 5 {
							t.Fatalf("%s, %s, %s: %q is left: %q", alphabet, name, what, part, got)
						}
					}
				}
			}
		}
	}
}

// valid is a text as it comes from hosts.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// sharedWith is the longest part of a secret as it is that was in a text and still
// is in what became of it.
func sharedWith(secret, text, got string) string {
	longest := ""
	for i := range len(secret) {
		for n := len(longest) + 1; i+n <= len(secret) && strings.Contains(text, secret[i:i+n]) && strings.Contains(got, secret[i:i+n]); n++ {
			longest = secret[i : i+n]
		}
	}
	return longest
}

// TestShells: the forms in which the shells of this machine print a secret are redacted.
func TestShells(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 30 {
		secret := "k" + random(r, alphabets["signs"], 16)
		set := NewSet(secret)
		out, err := exec.Command("bash", "-c", `printf %q "$1"`, "bash", secret).Output()
		if err != nil {
			t.Fatalf("running bash, which the Makefile needs too: %v", err)
		}
		if got := set.Text("x " + string(out)); got != "x "+Mark {
			t.Errorf("%q, as bash writes it %q, became %q", secret, out, got)
		}
	}
}

func TestLinesOfASecret(t *testing.T) {
	secret := "-----BEGIN KEY-----\nabcdefgh'ijkl\nmnop\nqrstuvwxyz01\n-----END KEY-----\n"
	got := NewSet(secret).Text("+  abcdefgh'ijkl\n-  qrstuvwxyz01\n 'abcdefgh'\\''ijkl'")
	if want := "+  " + Mark + "\n-  " + Mark + "\n '" + Mark + "'"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestShortAndNone(t *testing.T) {
	for text, set := range map[string]*Set{"on and off": NewSet("on", ""), "nothing": nil, "none": NewSet()} {
		if got := set.Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	if set := NewSet("on"); !set.Empty() {
		t.Error("a text of two bytes is looked for")
	}
}

// TestOverlapping: overlapping secrets are redacted completely.
func TestOverlapping(t *testing.T) {
	set := NewSet("abcdef", "cdefghij", "hijk")
	if got := set.Text("x abcdefghijk y"); got != "x "+Mark+" y" {
		t.Errorf("got %q", got)
	}
}

func TestAddWhileInUse(t *testing.T) {
	set := NewSet()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 200 {
			set.Add(fmt.Sprintf("secret-number-%d", i))
		}
	}()
	for range 200 {
		set.Text("secret-number-1 and others")
	}
	<-done
	if got := set.Text("secret-number-199"); got != Mark {
		t.Errorf("got %q", got)
	}
}

func BenchmarkText(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 8))
	set := NewSet()
	for range 200 {
		set.Add(random(r, alphabets["letters"], 24))
	}
	text := strings.Repeat("a line of a diff that has nothing in it ...\n+and another\n", 200)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		set.Text(text)
	}
}

func FuzzText(f *testing.F) {
	f.Add("hunter2", "it is hunter2 ...")
	f.Fuzz(func(t *testing.T, secret, text string) {
		set := NewSet(secret)
		if got := set.Text(text + secret + text); len(secret) >= shortest && strings.Contains(got, secret) && !strings.Contains(Mark, secret) && !strings.Contains(text, Mark) {
			t.Errorf("%q is left in %q", secret, got)
		}
	})
}

// TestOutputs: texts of a secret step's output become secrets, except those that would
// redact ordinary words of a log.
func TestOutputs(t *testing.T) {
	set := NewSet()
	all := set.AddOutput(map[string]any{
		"stdout": "s3cret token\n", "ran": true, "rc": 0.0, "path": "/etc/kubernetes/pki/ca.key",
		"json":  `{"data": {"password": "p'ss-word"}, "mode": "0640"}`,
		"cert":  "-----BEGIN CERTIFICATE-----\nMIIBabc123\n-----END CERTIFICATE-----\n",
		"files": map[string]any{"/etc/x.yaml": "apiVersion: apiserver.config.k8s.io/v1\nproviders:\n- secret: 'c2VjcmV0MTIz'\n  key=0x12ab34cd\n"},
		"list":  []any{"in a list 1", "true"},
	})
	got := set.Text(strings.Join([]string{"s3cret token", "p'ss-word", "c2VjcmV0MTIz", "0x12ab34cd", "in a list 1",
		"/etc/kubernetes/pki/ca.key", "MIIBabc123", "apiVersion: apiserver.config.k8s.io/v1", "providers:", "0640", "true"}, "|"))
	want := strings.Repeat(Mark+"|", 5) + "/etc/kubernetes/pki/ca.key|MIIBabc123|apiVersion: apiserver.config.k8s.io/v1|providers:|0640|true"
	if got != want || !all {
		t.Errorf("got %q, want %q", got, want)
	}
	if set.AddOutput(map[string]any{"stdout": strings.Repeat("x", MaxOutput+1)}) {
		t.Error("an output that is too large is taken in silence")
	}
}
