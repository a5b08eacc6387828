package requests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster/external"
)

// TestIndexFormats: an index without a number is read; one with an unknown number is
// refused before the rest of it is decoded; the present writer produces the golden
// file of the present format.
func TestIndexFormats(t *testing.T) {
	golden, err := os.ReadFile(filepath.Join("testdata", "requests-1.json"))
	if err != nil {
		t.Fatal(err)
	}
	want := []external.Request{{Host: "m1", Name: "apiserver", Authority: "cluster", Request: "m1/apiserver.csr", Certificate: "m1/apiserver.crt"}}
	if written, err := (Index{Requests: want}).encode(); err != nil || string(written) != string(golden) {
		t.Errorf("written in another form than its format: give it another number, and read the old one:\n%s%v", written, err)
	}
	for content, problem := range map[string]string{
		string(golden): "",
		strings.Replace(string(golden), `"format": 1,`, "", 1): "",
		`{"format": 2, "requests": "elsewhere"}`:               "has the format 2 and this version of deployer knows 1",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, indexFile), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		index, err := ReadIndex(dir)
		if problem != "" {
			if err == nil || !strings.Contains(err.Error(), problem) {
				t.Errorf("error is %v, want %q", err, problem)
			}
			continue
		}
		if diff := cmp.Diff(want, index.Requests); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
	}
}
