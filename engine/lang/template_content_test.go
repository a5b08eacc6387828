package lang

import "testing"

// TestContentKeepsTheLineEndsOfTheTemplate: the content of a file ends with at least as many
// line ends as its template. ansible-core 2.14 gives the same for the translated templates.
func TestContentKeepsTheLineEndsOfTheTemplate(t *testing.T) {
	for src, want := range map[string]string{
		"* * * * * root /bin/true\n{{- if .late }}\n# late\n{{- end -}}\n": "* * * * * root /bin/true\n",
		"a\n{{- if .late -}}\n{{ end -}}\n\n\n":                            "a\n\n\n",
		"{{ if .late }}x{{ end -}}\n":                                      "\n",
		"a{{ .name }}":                                                     "an",
		"a\n":                                                              "a\n",
		"{{ .lines }}":                                                     "x\n\n",
		"{{ .lines }}\n":                                                   "x\n\n\n",
	} {
		tpl, err := includeFiles(map[string]string{"t": src}).Template("t")
		if err != nil {
			t.Fatal(err)
		}
		got, err := tpl.Content(map[string]any{"late": false, "name": "n", "lines": "x\n\n"})
		if err != nil || got != want {
			t.Errorf("%q gives %q, %v; want %q", src, got, err, want)
		}
	}
	tpl, err := includeFiles(map[string]string{"outer": `[{{ include "inner" . }}]`, "inner": "a{{ if false }}{{ end -}}\n"}).Template("outer")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := tpl.Content(map[string]any{}); err != nil || got != "[a]" {
		t.Errorf("an included template gives %q, %v; the end of a line belongs to files only", got, err)
	}
}
