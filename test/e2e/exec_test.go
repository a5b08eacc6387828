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
)

// execSharesOutput checks that hosts with the same output share an entry, and that failed
// and unreachable hosts are named and stop no other.
func execSharesOutput(s *site) {
	if got, want := s.must("exec", "all", "--", "printf", "a\nb\n").stdout, "== h[1:3] (3)\na\nb\n"; got != want {
		s.t.Errorf("three hosts that say the same:\n%s", got)
	}
	if got, want := s.must("exec", "web,!h2", "--", "hostname; echo {{ .x }} | tr x y").stdout, "== h1 (1)\nh1\n{{ .y }}\n== h3 (1)\nh3\n{{ .y }}\n"; got != want {
		s.t.Errorf("two hosts that say different things:\n%s\nwant:\n%s", got, want)
	}
	o := s.deployer("exec", "all", "--", "echo said; echo wrong >&2; test $(hostname) != h2 || exit 7")
	if o.code != 3 {
		s.t.Errorf("one of three fails: exit %d, want 3", o.code)
	}
	if want := "== h1, h3 (2)\nsaid\nwrong\n== h2 (1)  failed, exit code 7\nsaid\nwrong\n"; !strings.HasPrefix(o.stdout, want) {
		s.t.Errorf("one of three fails:\n%s\nwant:\n%s", o.stdout, want)
	}
	if o := s.deployer("exec", "all", "--", "exit 7"); o.code != 1 {
		s.t.Errorf("all fail: exit %d, want 1\n%s", o.code, o.all())
	}
	o = s.must("exec", "all", "-m", "file", "-a", "{path: /etc/motd, content: hello}", "--check")
	s.requireTexts(o.stdout, "== h[1:3] (3)", "+hello")
	s.cutOff("h3", func() {
		o := s.deployer("exec", "all", "--", "echo here")
		if o.code != 3 {
			s.t.Errorf("one of three is cut off: exit %d, want 3", o.code)
		}
		s.requireTexts(o.stdout, "== h[1:2] (2)\nhere\n", "== h3 (1)  unreachable\n")
	})
}

// cutOff pulls a host's cable while do is done, and has deployer wait no longer
// than 3 s for it.
func (s *site) cutOff(host string, do func()) {
	s.t.Helper()
	pristine, err := os.ReadFile(s.inventory)
	if err != nil {
		s.t.Fatal(err)
	}
	s.edit(func(inv map[string]any) { section(inv, "ssh")["connect_timeout"] = "3s" })
	if err := s.Partition(s.t.Context(), host); err != nil {
		s.t.Fatal(err)
	}
	defer func() {
		if err := s.Heal(context.WithoutCancel(s.t.Context()), host); err != nil {
			s.t.Error(err)
		}
		if err := os.WriteFile(s.inventory, pristine, 0o600); err != nil {
			s.t.Error(err)
		}
		s.eventually(time.Minute, host+" answers again", func() error {
			_, err := s.SSH(s.t.Context(), host, "true")
			return err
		})
	}()
	do()
}

// factsMatchHost compares facts with the output of programs on the hosts.
func factsMatchHost(s *site) {
	var all map[string]map[string]any
	o := s.must("facts", "-o", "json", "--gather", "network,packages,services")
	if err := json.Unmarshal([]byte(o.stdout), &all); err != nil || len(all) != len(webHosts) {
		s.t.Fatalf("%v, facts of %d hosts", err, len(all))
	}
	for _, h := range webHosts {
		facts := all[h]
		raw, err := json.Marshal(facts)
		if err != nil {
			s.t.Fatal(err)
		}
		byHand := s.shell(h, `hostname; cat /etc/machine-id /proc/sys/kernel/random/boot_id; uname -r; echo $(hostname -I); . /etc/os-release; echo $VERSION_CODENAME; nproc
			dpkg-query -W -f '${Version}\n' nginx; cat /sys/class/net/eth0/address`)
		want := strings.Split(byHand, "\n")
		var got []string
		for _, fact := range []string{"hostname", "machine_id", "boot_id", "kernel", "default_ip", "os_codename", "cpus"} {
			got = append(got, fmt.Sprint(facts[fact]))
		}
		if diff := cmp.Diff(want[:len(got)], got); diff != "" {
			s.t.Errorf("%s: - what it says itself, + its facts:\n%s", h, diff)
		}
		s.requireTexts(string(raw), append(want[len(got):], "nginx.service")...)
	}
	if text := s.must("facts", "h2").stdout; !strings.HasPrefix(text, "== h2\n") || strings.Contains(text, "== h1") {
		s.t.Errorf("facts of h2:\n%s", text)
	}
}

// fetchFiles fetches files of all hosts, each into the directory of its host.
func fetchFiles(s *site) {
	dir := s.t.TempDir()
	digests := map[string]string{}
	for _, h := range webHosts {
		digests[h] = s.shell(h, "mkdir -p '/srv/a b'; head -c 9000000 /dev/urandom > '/srv/a b/data'; sha256sum < '/srv/a b/data'")
	}
	s.must("exec", "all", "-m", "fetch", "-a", `{src: "/srv/a b/data", dest: "`+dir+`"}`)
	for _, h := range webHosts {
		got, err := s.Ctl(s.t.Context(), "sh", "-c", `sha256sum < "$1"`, "sh", filepath.Join(dir, h, "srv", "a b", "data"))
		if err != nil || strings.TrimSpace(got) != digests[h] {
			s.t.Errorf("%s: %v, %q; want %q", h, err, got, digests[h])
		}
	}
	o := s.deployer("exec", "all", "-m", "fetch", "-a", `{src: /srv/none, dest: "`+dir+`"}`)
	if o.code != 1 {
		s.t.Errorf("a file that is on no host: exit %d, want 1", o.code)
	}
	s.requireTexts(o.stdout, "/srv/none does not exist on the host")
	if _, err := os.Stat(filepath.Join(dir, "h1", "srv", "none")); err == nil {
		s.t.Error("something was written for a file that does not exist")
	}
}
