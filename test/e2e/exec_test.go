//go:build lab

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/test/harness"
)

// execSharesOutput checks that hosts with the same output share an entry, and that failed
// and unreachable hosts are named and stop no other.
func execSharesOutput(s *site) {
	if got, want := s.Must("exec", "all", "--", "printf", "a\nb\n").Stdout, "== h[1:3] (3)\na\nb\n"; got != want {
		s.T.Errorf("three hosts that say the same:\n%s", got)
	}
	if got, want := s.Must("exec", "web,!h2", "--", "hostname; echo {{ .x }} | tr x y").Stdout, "== h1 (1)\nh1\n{{ .y }}\n== h3 (1)\nh3\n{{ .y }}\n"; got != want {
		s.T.Errorf("two hosts that say different things:\n%s\nwant:\n%s", got, want)
	}
	o := s.Deployer("exec", "all", "--", "echo said; echo wrong >&2; test $(hostname) != h2 || exit 7")
	if o.Code != 3 {
		s.T.Errorf("one of three fails: exit %d, want 3", o.Code)
	}
	if want := "== h1, h3 (2)\nsaid\nwrong\n== h2 (1)  failed, exit code 7\nsaid\nwrong\n"; !strings.HasPrefix(o.Stdout, want) {
		s.T.Errorf("one of three fails:\n%s\nwant:\n%s", o.Stdout, want)
	}
	if o := s.Deployer("exec", "all", "--", "exit 7"); o.Code != 1 {
		s.T.Errorf("all fail: exit %d, want 1\n%s", o.Code, o.All())
	}
	o = s.Must("exec", "all", "-m", "file", "-a", "{path: /etc/motd, content: hello}", "--check")
	s.RequireTexts(o.Stdout, "== h[1:3] (3)", "+hello")
	s.cutOff("h3", func() {
		o := s.Deployer("exec", "all", "--", "echo here")
		if o.Code != 3 {
			s.T.Errorf("one of three is cut off: exit %d, want 3", o.Code)
		}
		s.RequireTexts(o.Stdout, "== h[1:2] (2)\nhere\n", "== h3 (1)  unreachable\n")
	})
}

// cutOff disconnects a host while it calls do, and limits deployer's wait for a
// connection to 3 s.
func (s *site) cutOff(host string, do func()) {
	s.T.Helper()
	pristine, err := os.ReadFile(s.Inventory)
	if err != nil {
		s.T.Fatal(err)
	}
	s.Edit(func(inv map[string]any) { harness.Section(inv, "ssh")["connect_timeout"] = "3s" })
	if err := s.Partition(s.T.Context(), host); err != nil {
		s.T.Fatal(err)
	}
	defer func() {
		if err := s.Heal(context.WithoutCancel(s.T.Context()), host); err != nil {
			s.T.Error(err)
		}
		if err := os.WriteFile(s.Inventory, pristine, 0o600); err != nil {
			s.T.Error(err)
		}
		s.Eventually(time.Minute, host+" answers again", func() error {
			_, err := s.SSH(s.T.Context(), host, "true")
			return err
		})
	}()
	do()
}

// factsMatchHost compares facts with the output of programs on the hosts.
func factsMatchHost(s *site) {
	var all map[string]map[string]any
	o := s.Must("facts", "-o", "json", "--gather", "network,packages,services")
	if err := json.Unmarshal([]byte(o.Stdout), &all); err != nil || len(all) != len(webHosts) {
		s.T.Fatalf("%v, facts of %d hosts", err, len(all))
	}
	for _, h := range webHosts {
		facts := all[h]
		raw, err := json.Marshal(facts)
		if err != nil {
			s.T.Fatal(err)
		}
		byHand := s.Shell(h, `hostname; cat /etc/machine-id /proc/sys/kernel/random/boot_id; uname -r; hostname -I | cut -d' ' -f1; . /etc/os-release; echo $VERSION_CODENAME; nproc
			dpkg-query -W -f '${Version}\n' nginx; cat /sys/class/net/eth0/address`)
		want := strings.Split(byHand, "\n")
		var got []string
		for _, fact := range []string{"hostname", "machine_id", "boot_id", "kernel", "default_ip", "os_codename", "cpus"} {
			got = append(got, fmt.Sprint(facts[fact]))
		}
		if diff := cmp.Diff(want[:len(got)], got); diff != "" {
			s.T.Errorf("%s: - what it says itself, + its facts:\n%s", h, diff)
		}
		s.RequireTexts(string(raw), append(want[len(got):], "nginx.service")...)
	}
	if text := s.Must("facts", "h2").Stdout; !strings.HasPrefix(text, "== h2\n") || strings.Contains(text, "== h1") {
		s.T.Errorf("facts of h2:\n%s", text)
	}
}

// fetchFiles fetches files of all hosts, each into the directory of its host.
func fetchFiles(s *site) {
	dir := s.T.TempDir()
	digests := map[string]string{}
	for _, h := range webHosts {
		digests[h] = s.Shell(h, "mkdir -p '/srv/a b'; head -c 9000000 /dev/urandom > '/srv/a b/data'; sha256sum < '/srv/a b/data'")
	}
	s.Must("exec", "all", "-m", "fetch", "-a", `{src: "/srv/a b/data", dest: "`+dir+`"}`)
	for _, h := range webHosts {
		got, err := s.Ctl(s.T.Context(), "sh", "-c", `sha256sum < "$1"`, "sh", filepath.Join(dir, h, "srv", "a b", "data"))
		if err != nil || strings.TrimSpace(got) != digests[h] {
			s.T.Errorf("%s: %v, %q; want %q", h, err, got, digests[h])
		}
	}
	o := s.Deployer("exec", "all", "-m", "fetch", "-a", `{src: /srv/none, dest: "`+dir+`"}`)
	if o.Code != 1 {
		s.T.Errorf("a file that is on no host: exit %d, want 1", o.Code)
	}
	s.RequireTexts(o.Stdout, "/srv/none does not exist on the host")
	if _, err := os.Stat(filepath.Join(dir, "h1", "srv", "none")); err == nil {
		s.T.Error("something was written for a file that does not exist")
	}
}
