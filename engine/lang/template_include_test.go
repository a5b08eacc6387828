package lang

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

func includeFiles(files map[string]string) *Files {
	tree := fstest.MapFS{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return NewFiles("role r", "", os.DirFS, SearchDir{Tree: Tree{FS: tree}, Dir: ".", Templates: true})
}

func TestTemplateInclude(t *testing.T) {
	f := includeFiles(map[string]string{
		"outer.tmpl": `hash: {{ include "inner.tmpl" . | upper }}{{ own }}`,
		"inner.tmpl": `a={{ deep.value }}`,
	})
	tpl, err := f.Template("outer.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	got, err := tpl.Text(map[string]any{"own": "!", "deep": map[string]any{"value": "b"}})
	if err != nil || got != "hash: A=B!" {
		t.Errorf("Text = %q, %v", got, err)
	}
	if r := tpl.Refs(); r.All() || !r.Has("deep") || !r.Has("own") {
		t.Errorf("refs = %v all=%v, want deep and own only", r.Names(), r.All())
	}
}

func TestTemplateIncludeErrors(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"outer.tmpl -> inner.tmpl -> outer.tmpl": {"outer.tmpl": `{{ include "inner.tmpl" . }}`, "inner.tmpl": `{{ include "outer.tmpl" . }}`},
		"as a constant":                          {"outer.tmpl": `{{ include .name . }}`},
		"and the variables":                      {"outer.tmpl": `{{ if (include "x") }}{{ end }}`},
		`no template "gone.tmpl"`:                {"outer.tmpl": `{{ include "gone.tmpl" . }}`},
	} {
		_, err := includeFiles(files).Template("outer.tmpl")
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want one with %q", err, name)
		}
	}
}
