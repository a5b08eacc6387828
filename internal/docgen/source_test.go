package docgen

import (
	"path/filepath"
	"testing"
)

// TestReferenceIsComplete checks that generated pages describe every event, status and
// kind of effect.
func TestReferenceIsComplete(t *testing.T) {
	src, err := readSource("../../engine")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"EventType", "Status", "EffectKind"} {
		if len(src[name].values) < 5 {
			t.Errorf("only %d values of %s were found", len(src[name].values), name)
		}
		for _, v := range src[name].values {
			if v.doc == "" {
				t.Errorf("%s %q has no comment", name, v.name)
			}
		}
	}
	for _, name := range []string{"Event", "Result", "Report", "HostReport"} {
		for _, f := range src[name].fields {
			if f.doc == "" {
				t.Errorf("field %s of %s has no comment", f.name, name)
			}
		}
	}
}

// TestVariablesHaveText checks that the reference describes every variable.
func TestVariablesHaveText(t *testing.T) {
	for dir, types := range map[string][]string{"cluster": {"Cluster", "Node"}, "engine": {"Facts"}} {
		src, err := readSource(filepath.Join("../..", dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range types {
			rows := src.rows(name, name+".")
			if len(rows) < 15 {
				t.Errorf("only %d fields of %s were found", len(rows), name)
			}
			for _, r := range rows {
				if r.doc == "" {
					t.Errorf("%s has no comment that says what it is", r.path)
				}
			}
		}
	}
}
