package roles_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestPodRulesAreLoadedAgain runs the loop of deployer-pods.service with a program in place of
// nft: the rules are loaded whenever another program has removed their table, and not
// otherwise.
func TestPodRulesAreLoadedAgain(t *testing.T) {
	t.Parallel()
	unit, err := os.ReadFile("../templates/network/pods.service.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	// render keeps the parts of the template for families.
	render := func(ipv4, ipv6 bool) string {
		text := string(unit)
		for condition, holds := range map[string]bool{`\$ipv4`: ipv4, `\$ipv6`: ipv6, `and \$ipv4 \$ipv6`: ipv4 && ipv6} {
			text = regexp.MustCompile(`\{\{ if `+condition+` \}\}(.*?)\{\{ end \}\}`).ReplaceAllString(text, map[bool]string{true: "$1"}[holds])
		}
		return text
	}
	const ip, ip6 = "table ip deployer_pods\n", "table ip6 deployer_pods\n"
	for _, one := range []struct {
		name, unit, tables string
		broken             []string
	}{
		{"IPv4", render(true, false), ip, []string{"", "table ip deployer_pods_old\n"}},
		{"IPv6", render(false, true), ip6, []string{"", ip}},
		{"both", render(true, true), ip + ip6, []string{"", ip, ip6}},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			loopsOverPodRules(t, one.unit, one.tables, one.broken)
		})
	}
}

// loopsOverPodRules runs the loop of a unit, first with its tables and then with broken ones.
func loopsOverPodRules(t *testing.T, unit, tables string, broken []string) {
	t.Helper()
	start := regexp.MustCompile(`(?m)^ExecStart=/bin/sh -c '(.*)'$`).FindStringSubmatch(unit)
	if start == nil {
		t.Fatal("the unit has no loop")
	}
	dir := t.TempDir()
	file, loads, nft := filepath.Join(dir, "tables"), filepath.Join(dir, "loads"), filepath.Join(dir, "nft")
	script := "#!/bin/sh\nif [ \"$1\" = list ]; then grep \"^table $3 \" " + file + "; else echo \"$*\" >> " + loads + "; printf '" + tables + "' >> " + file + "; fi\n"
	if err := os.WriteFile(nft, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	set := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	loaded := func() int {
		text, _ := os.ReadFile(loads)
		return strings.Count(string(text), "-f /etc/deployer/pods.nft\n")
	}
	set("table ip kube-proxy\n" + tables)
	loop := strings.NewReplacer("/usr/sbin/nft", nft, "sleep 5", "sleep 0.05").Replace(start[1])
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", loop)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	time.Sleep(300 * time.Millisecond)
	if n := loaded(); n != 0 {
		t.Errorf("the rules were loaded %d times although their tables were there", n)
	}
	for want, text := range broken {
		set(text)
		deadline := time.Now().Add(10 * time.Second)
		for loaded() < want+1 && time.Now().Before(deadline) {
			time.Sleep(20 * time.Millisecond)
		}
		if n := loaded(); n != want+1 {
			t.Fatalf("tables %q: the rules were loaded %d times, want %d", text, n, want+1)
		}
	}
}
