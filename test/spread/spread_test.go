//go:build lab

package spread

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

func TestMain(m *testing.M) {
	harness.SweepLabs()
	os.Exit(m.Run())
}

// port is the default of distribution.port.
const port = "7475"

// TestSixHosts installs a cluster whose hosts send each other binaries and images. One host has a
// packet filter that drops the port in both directions. The install is killed when the first blob has
// arrived, and resumed.
func TestSixHosts(t *testing.T) {
	s := harness.New(t, "spread", plan.Spec{Masters: 1, Minions: 5})
	s.Edit(func(inv map[string]any) { inv["distribution"] = map[string]any{"peers": "on"} })
	s.Shell("n5", "nft add table inet cut && nft add chain inet cut in '{ type filter hook input priority 0; }' && "+
		"nft add chain inet cut out '{ type filter hook output priority 0; }' && "+
		"nft add rule inet cut in tcp dport "+port+" drop && nft add rule inet cut out tcp dport "+port+" drop")

	if check := s.Deployer("install", "--check"); strings.Contains(check.All(), "distribution:") {
		t.Errorf("a check has distributed something:\n%s", check.All())
	}
	install := s.StartRun("install", "--output", "json")
	if !install.KillAt(func(e map[string]any) bool { return e["type"] == "received" }) {
		t.Fatal("the install ended before a blob was received")
	}
	o := s.Deployer("resume", "--output", "json")
	s.RequireExit(o, 0)
	requireSources(s, o)
	requireNothingLeft(s)

	s.RequireTexts(s.Must("runs", "show").All(), "distribution: ")
	if again := s.Must("install"); strings.Contains(again.All(), "distribution:") || !strings.Contains(again.All(), "0 changed") {
		t.Errorf("a second install distributes or changes something:\n%s", again.All())
	}
	s.Must("verify")
}

// distributed matches the sum of a run.
var distributed = regexp.MustCompile(`(\d+) MiB: (\d+) MiB from the controller, which are ([\d.]+) copies; (\d+) MiB among hosts`)

// requireSources checks where blobs came from: on most hosts from others, on the host behind the filter
// from the controller, with a warning.
func requireSources(s *harness.Site, o harness.Outcome) {
	s.T.Helper()
	events, _ := s.Events(o)
	fromPeers := map[string]int{}
	var warnings []string
	sum := ""
	for _, e := range events {
		text := fmt.Sprint(e["text"])
		switch e["type"] {
		case "received":
			if regexp.MustCompile(`\b[mn]\d\b`).MatchString(text) {
				fromPeers[fmt.Sprint(e["host"])]++
			}
		case "distributed":
			sum = text
		case "warning":
			warnings = append(warnings, fmt.Sprint(e["host"], " ", text))
		}
	}
	s.T.Logf("%s; blobs from other hosts: %v; warnings: %q", sum, fromPeers, warnings)
	if fromPeers["n5"] > 0 {
		s.T.Errorf("n5 has received %d blobs through the filter", fromPeers["n5"])
	}
	for _, host := range []string{"n1", "n2", "n3", "n4"} {
		if fromPeers[host] == 0 {
			s.T.Errorf("%s has received no blob from other hosts", host)
		}
	}
	m := distributed.FindStringSubmatch(sum)
	if m == nil {
		s.T.Fatalf("the sum of the run is %q", sum)
	}
	if copies, _ := strconv.ParseFloat(m[3], 64); copies > 4 {
		s.T.Errorf("the controller has sent %v copies to six hosts, one of them behind a filter", copies)
	}
	if all := strings.Join(warnings, "\n"); !strings.Contains(all, "n5 the host cannot connect to port "+port) {
		s.T.Errorf("no warning names n5: %q", warnings)
	}
}

// requireNothingLeft checks that no host keeps copies for others, keys or an open port.
func requireNothingLeft(s *harness.Site) {
	s.T.Helper()
	for _, host := range []string{"m1", "n1", "n2", "n3", "n4", "n5"} {
		if left := s.Shell(host, "find /var/lib/deployer/spread -type f ! -name lock; ss -Hltn 'sport = :"+port+"'"); strings.TrimSpace(left) != "" {
			s.T.Errorf("%s still has %q", host, left)
		}
	}
}
