//go:build lab

package e2e

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"deployer/test/lab/plan"
)

// purge removes packages from a host and returns the names of all removed packages.
func (s *site) purge(host string, names ...string) []string {
	s.T.Helper()
	installed := `dpkg-query --show --showformat '${Package} ${db:Status-Status}\n' | sed -n 's/ installed$//p'`
	before := strings.Fields(s.Shell(host, installed))
	s.Shell(host, "DEBIAN_FRONTEND=noninteractive apt-get -q -y purge "+strings.Join(names, " "))
	after := strings.Fields(s.Shell(host, installed))
	return slices.DeleteFunc(before, func(n string) bool { return slices.Contains(after, n) })
}

// packageSource serves Debian packages in the lab to the given hosts. The machine
// downloads them, as the lab has no internet access.
func (s *site) packageSource(names []string, hosts ...string) {
	s.T.Helper()
	dir := s.T.TempDir()
	download(s.T, dir, names)
	s.serve(dir, hosts...)
}

// serve makes a directory of packages the only source of the given hosts.
func (s *site) serve(dir string, hosts ...string) {
	s.T.Helper()
	index(s.T, dir)
	listener, err := s.Listen(plan.Controller().String() + ":8000")
	if err != nil {
		s.T.Fatal(err)
	}
	server := &http.Server{Handler: http.FileServer(http.Dir(dir))}
	go func() { _ = server.Serve(listener) }()
	s.T.Cleanup(func() { _ = server.Close() })
	for _, h := range hosts {
		s.Shell(h, fmt.Sprintf("rm -rf /var/lib/apt/lists/* /etc/apt/sources.list.d/*; echo 'deb [trusted=yes] http://%s ./' > /etc/apt/sources.list", listener.Addr()))
	}
}

// download fetches package files with the machine's apt.
func download(t *testing.T, dir string, names []string) {
	t.Helper()
	argv := append([]string{"-qq", "-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=3", "download"}, names...)
	get := func() ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), "apt-get", argv...)
		cmd.Dir = dir
		return cmd.CombinedOutput()
	}
	if _, err := get(); err == nil {
		return
	}
	// The machine's package lists may be older than the content of its mirror.
	if out, err := exec.CommandContext(t.Context(), "apt-get", "-qq", "update").CombinedOutput(); err != nil {
		t.Fatalf("apt-get update on this machine: %v\n%s", err, out)
	}
	if out, err := get(); err != nil {
		t.Fatalf("downloading %v on this machine: %v\n%s", names, err, out)
	}
}

// index writes the index files of an apt repository.
func index(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no packages in %s: %v", dir, err)
	}
	var list bytes.Buffer
	for _, file := range files {
		control, err := exec.CommandContext(t.Context(), "dpkg-deb", "--field", file).Output()
		if err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&list, "%s\nFilename: ./%s\nSize: %d\nSHA256: %x\n\n", bytes.TrimSpace(control), filepath.Base(file), len(content), sha256.Sum256(content))
	}
	release := fmt.Sprintf("Suite: lab\nSHA256:\n %x %d Packages\n", sha256.Sum256(list.Bytes()), list.Len())
	for name, content := range map[string][]byte{"Packages": list.Bytes(), "Release": []byte(release)} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// preflight returns the result of a preflight check of a host, from the events of a run.
func preflight(events []map[string]any, host, check string) string {
	for _, e := range events {
		if e["type"] != "step.end" || e["host"] != host || e["name"] != "check the host" {
			continue
		}
		result, _ := e["result"].(map[string]any)
		output, _ := result["output"].(map[string]any)
		rows, _ := output["checks"].([]any)
		for _, r := range rows {
			if row, _ := r.(map[string]any); row["check"] == check {
				text, _ := row["detail"].(string)
				return text
			}
		}
	}
	return ""
}
