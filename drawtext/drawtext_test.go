package drawtext_test

import (
	"testing"

	"deployer/drawtext"
)

func TestTexts(t *testing.T) {
	const in = "a<b> & \"c\"\n\\d #1\x00"
	for name, tt := range map[string]struct{ got, want string }{
		"XML":     {drawtext.XML(in), `a&lt;b&gt; &amp; &#34;c&#34; \d #1 `},
		"Mermaid": {drawtext.Mermaid(in), "a#lt;b#gt; #amp; #quot;c#quot; #92;d #35;1 "},
		"DOT":     {drawtext.DOT(in), `"a<b> & \"c\" \\d #1 "`},
		"short":   {drawtext.Shorten("größer", 6), "größer"},
		"long":    {drawtext.Shorten("größere", 6), "größe…"},
		"no room": {drawtext.Shorten("größere", 3), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", name, tt.got, tt.want)
		}
	}
}
