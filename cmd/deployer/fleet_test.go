package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"deployer/engine/journal"
	"deployer/test/fleet"
)

// yard is a fleet of hosts, and a directory with an inventory of them in which
// deployer is called.
type yard struct {
	t     *testing.T
	fleet *fleet.Fleet
	site  fleet.Site
}

func newYard(t *testing.T, hosts int, files map[string]string) *yard {
	t.Helper()
	return newYardOf(t, hosts, fleet.Options{}, files)
}

func newYardOf(t *testing.T, hosts int, o fleet.Options, files map[string]string) *yard {
	t.Helper()
	o.Dir = t.TempDir()
	f, err := fleet.Start(hosts, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	y := &yard{t: t, fleet: f}
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	for name, content := range files {
		y.write(name, content)
	}
	y.inventory()
	return y
}

func (y *yard) write(name, content string) {
	y.t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		y.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		y.t.Fatal(err)
	}
}

// inventory writes the inventory as the site now is.
func (y *yard) inventory() {
	y.t.Helper()
	data, err := yaml.Marshal(y.fleet.Document(y.site))
	if err != nil {
		y.t.Fatal(err)
	}
	y.write("inventory.yaml", string(data))
}

// deployer calls the program, and wants an exit code.
func (y *yard) deployer(code int, args ...string) (stdout, stderr string) {
	y.t.Helper()
	var out, complaints bytes.Buffer
	if got := run(y.t.Context(), args, strings.NewReader(""), &out, &complaints); got != code {
		y.t.Fatalf("deployer %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, out.String(), complaints.String())
	}
	return out.String(), complaints.String()
}

// kill calls the program in a process of its own, and kills that as soon as it
// tells of an event that has all these texts in its line of JSON.
func (y *yard) kill(texts []string, args ...string) {
	y.t.Helper()
	victim := exec.CommandContext(y.t.Context(), os.Args[0], append(args, "-o", "json")...)
	victim.Args[0] = "deployer" // see TestMain
	out, err := victim.StdoutPipe()
	if err != nil {
		y.t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		y.t.Fatal(err)
	}
	told := func(line string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) })
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && !told(lines.Text()) {
	}
	if !told(lines.Text()) {
		y.t.Errorf("deployer %s ended without telling of %q", strings.Join(args, " "), texts)
	}
	if err := victim.Process.Kill(); err != nil {
		y.t.Fatal(err)
	}
	_ = victim.Wait()
}

// on reads a file of a host; "-" when there is none.
func (y *yard) on(host int, path string) string {
	y.t.Helper()
	data, err := os.ReadFile(filepath.Join(y.fleet.Hosts[host].Root, path))
	if os.IsNotExist(err) {
		return "-"
	}
	if err != nil {
		y.t.Fatal(err)
	}
	return string(data)
}

func (y *yard) put(host int, path, content string) {
	y.t.Helper()
	y.write(filepath.Join(y.fleet.Hosts[host].Root, path), content)
}

// runs are the logs on the controller, newest first.
func (y *yard) runs() []*journal.Record {
	y.t.Helper()
	dir, err := journal.Dir()
	if err != nil {
		y.t.Fatal(err)
	}
	all, err := journal.List(dir)
	if err != nil {
		y.t.Fatal(err)
	}
	return all
}

// says wants texts in an output, each after the one before.
func says(t *testing.T, output string, texts ...string) {
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
