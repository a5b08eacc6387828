package fleet

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deployer/engine/journal"
	"deployer/engine/view"
)

const (
	// token is marked as secret in the inventory; it has a line end and a quote,
	// which look different in JSON.
	token = "hunter2-\"token\"-of-the-site\nsecond-line-of-it"
	// unmarked is a secret that is only in a secret file and a secret task.
	unmarked = "swordfish-of-the-playbook"
)

// TestSecretsAreRedacted checks that no event of a run contains a secret of the
// inventory or of a secret file or task: not in a check, a creation, a change or a
// failure.
func TestSecretsAreRedacted(t *testing.T) {
	t.Parallel()
	tr := newSiteRuns(t, 3, Options{})
	tr.c.Playbook, tr.c.Main, tr.c.JournalDir = os.DirFS("testdata/secret"), "secret.yaml", memoryDir(t)
	tr.site = Site{Vars: map[string]any{"token": Secret(token), "generation": 1}}
	for _, check := range []bool{true, false, false} {
		tr.c.Check = check
		report, rec := tr.run()
		if broken := report.Broken(); len(broken) != 1 || broken[0].Host != "n002" {
			t.Fatalf("broken are %+v", broken)
		}
		output := map[string][]byte{}
		var lines, asJSON, summary bytes.Buffer
		text, machine := view.Lines(&lines, view.Options{Verbose: 2, Hosts: tr.fleet.Names()}), view.JSON(&asJSON)
		for _, e := range rec.all() {
			text.Emit(e)
			machine.Emit(e)
		}
		text.Close()
		machine.Close()
		view.Summary(&summary, "secrets", report, "again")
		output["lines"], output["JSON"], output["summary"] = lines.Bytes(), asJSON.Bytes(), summary.Bytes()
		output["report"] = marshal(t, report)
		output["events"] = marshal(t, rec.all())
		output["journal"] = read(t, journal.Path(tr.c.JournalDir, rec.all()[0].Text))
		requireNoSecrets(t, output)
		// The rest is still told.
		for _, where := range []string{"lines", "JSON", "events"} {
			if !bytes.Contains(output[where], []byte("[secret]")) {
				t.Errorf("the %s do not say where a secret was left out", where)
			}
		}
		if tr.runs == 1 && !bytes.Contains(output["lines"], []byte("visible-content")) {
			t.Errorf("the lines have no diff:\n%s", output["lines"])
		}
		tr.site.Vars["generation"] = 2
	}
	requireHostFiles(t, tr)
}

// requireHostFiles checks the files that contain the secrets, and that the journals of
// hosts do not.
func requireHostFiles(t *testing.T, tr *siteRuns) {
	t.Helper()
	for _, h := range tr.fleet.Hosts {
		for path, want := range map[string]string{
			"etc/plain": "token = " + token + "\npublic = visible-content\n", "etc/secret": unmarked + " 2\n", "etc/copied": unmarked + " 2\n",
		} {
			if got := read(t, filepath.Join(h.Root, path)); string(got) != want {
				t.Errorf("%s: /%s is %q", h.Name, path, got)
			}
		}
		journals, err := filepath.Glob(filepath.Join(h.Root, "var/lib/deployer/runs/*/journal.jsonl"))
		if err != nil || len(journals) != 2 {
			t.Errorf("%s has %d journals, %v", h.Name, len(journals), err)
		}
		for _, path := range journals {
			requireNoSecrets(t, map[string][]byte{path: read(t, path)})
		}
	}
}

// requireNoSecrets checks that no text contains a secret in any encoding.
func requireNoSecrets(t *testing.T, output map[string][]byte) {
	t.Helper()
	first, second, _ := strings.Cut(token, "\n")
	forms := []string{unmarked, first, second, "hunter2", string(marshal(t, first)), base64.StdEncoding.EncodeToString([]byte(token))}
	for where, text := range output {
		if len(text) < 40 {
			t.Errorf("there is almost nothing in the %s: %q", where, text)
		}
		for _, form := range forms {
			if at := bytes.Index(text, []byte(form)); at >= 0 {
				t.Errorf("the %s tell a secret: ...%s", where, text[max(0, at-200):min(len(text), at+60)])
			}
		}
	}
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
