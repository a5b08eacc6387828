package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"deployer/engine/journal"
	"deployer/test/fleet"
)

// testSite is a fleet of hosts, and a working directory with their inventory.
type testSite struct {
	t     *testing.T
	fleet *fleet.Fleet
	site  fleet.Site
}

func newTestSite(t *testing.T, hosts int, files map[string]string) *testSite {
	t.Helper()
	return newTestSiteWith(t, hosts, fleet.Options{}, files)
}

func newTestSiteWith(t *testing.T, hosts int, o fleet.Options, files map[string]string) *testSite {
	t.Helper()
	o.Dir = t.TempDir()
	f, err := fleet.Start(hosts, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	s := &testSite{t: t, fleet: f}
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	for name, content := range files {
		s.write(name, content)
	}
	s.writeInventory()
	return s
}

func (s *testSite) write(name, content string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// writeInventory writes the present inventory of the site.
func (s *testSite) writeInventory() {
	s.t.Helper()
	data, err := yaml.Marshal(s.fleet.Document(s.site))
	if err != nil {
		s.t.Fatal(err)
	}
	s.write("inventory.yaml", string(data))
}

// deployer runs a command line and checks its exit code.
func (s *testSite) deployer(code int, args ...string) (stdout, stderr string) {
	s.t.Helper()
	var out, complaints bytes.Buffer
	if got := run(s.t.Context(), args, strings.NewReader(""), &out, &complaints); got != code {
		s.t.Fatalf("deployer %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, out.String(), complaints.String())
	}
	return out.String(), complaints.String()
}

// kill starts deployer in another process, which stops at the event that contains all
// texts, and kills it there.
func (s *testSite) kill(texts []string, args ...string) {
	s.t.Helper()
	victim := exec.CommandContext(s.t.Context(), os.Args[0], append(args, "-o", "json")...)
	victim.Args[0] = "deployer" // see TestMain
	victim.Env = append(os.Environ(), blockVariable+"="+strings.Join(texts, "\n"))
	out, err := victim.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		s.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && !containsAll(lines.Text(), texts) {
	}
	if !containsAll(lines.Text(), texts) {
		s.t.Errorf("deployer %s ended without telling of %q", strings.Join(args, " "), texts)
	}
	if err := victim.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	_ = victim.Wait()
}

// hostFile returns the content of a file on a host; "-" when it does not exist.
func (s *testSite) hostFile(host int, path string) string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.fleet.Hosts[host].Root, path))
	if os.IsNotExist(err) {
		return "-"
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

func (s *testSite) writeHostFile(host int, path, content string) {
	s.t.Helper()
	s.write(filepath.Join(s.fleet.Hosts[host].Root, path), content)
}

// runs returns the logs of runs, newest first.
func (s *testSite) runs() []*journal.Record {
	s.t.Helper()
	dir, err := journal.Dir()
	if err != nil {
		s.t.Fatal(err)
	}
	all, err := journal.List(dir)
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// requireTexts checks that an output contains texts in this order.
func requireTexts(t *testing.T, output string, texts ...string) {
	t.Helper()
	rest := output
	for _, text := range texts {
		i := strings.Index(rest, text)
		if i < 0 {
			t.Errorf("the output does not say %q (in this order):\n%s", text, output)
			return
		}
		rest = rest[i+len(text):]
	}
}

// exists reports whether there is a file at path.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
