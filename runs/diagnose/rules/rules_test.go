package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"deployer/tasks/control/report"
)

var connected = time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)

// examined returns a host with one file, which arrived a second after the connection.
func examined(file, text string) Host {
	return Host{Name: "m1", Connected: connected, Units: []string{"etcd.service"}, Files: map[string]File{file: {Text: text, Received: connected.Add(time.Second)}}}
}

func at(d time.Duration) string {
	return fmt.Sprintf("%.3f\n", float64(connected.Add(d).UnixNano())/1e9)
}

// TestExamine: each rule finds its problem, and reports nothing on a healthy host.
// Titles are "severity title".
func TestExamine(t *testing.T) {
	t.Parallel()
	const df = "# blocks\nFilesystem 1024-blocks Used Available Capacity Mounted on\n/dev/vda1 100 %d 1 %d%% /\n# inodes\n"
	for name, c := range map[string]struct {
		host Host
		want string // severity and title, or empty
		text string // part of the evidence
	}{
		"unreachable":              {Host{Name: "m1", Unreachable: "no route"}, "critical host could not be examined", "no route"},
		"disk has room":            {examined("system/disks.txt", fmt.Sprintf(df, 84, 84)), "", ""},
		"disk almost full":         {examined("system/disks.txt", fmt.Sprintf(df, 85, 85)), "warning file system almost full", "/: 85 % of the space"},
		"disk full":                {examined("system/disks.txt", fmt.Sprintf(df, 97, 97)), "critical file system almost full", "97 %"},
		"inodes":                   {examined("system/disks.txt", "# inodes\n/dev/vda1 100 99 1 99% /var lib\n"), "critical file system almost full", "/var lib: 99 % of the inodes"},
		"memory":                   {examined("system/summary.txt", "MemTotal:  2048000 kB\nMemAvailable: 51200 kB\n"), "warning memory almost used up", "50 of 2000 MiB"},
		"memory enough":            {examined("system/summary.txt", "MemTotal:  2048000 kB\nMemAvailable: 512000 kB\n"), "", ""},
		"clock in the interval":    {examined("system/clock.txt", at(500*time.Millisecond)), "", ""},
		"clock slightly off":       {examined("system/clock.txt", at(-900*time.Millisecond)), "", ""},
		"clock behind":             {examined("system/clock.txt", at(-3*time.Second)), "warning clock differs", "3s behind"},
		"clock ahead":              {examined("system/clock.txt", at(time.Minute)), "critical clock differs", "59s ahead of"},
		"clock not synchronized":   {examined("system/clock.txt", at(0)+"NTP=no\nNTPSynchronized=no\n"), "info clock is not synchronized", "no"},
		"clock set back":           {examined("system/clock-jumps.txt", "1795770000 +3600\n1795773700 -3598\n"), "critical the clock has jumped", "2 times, last: at 2026-11-27 10:01:40 by 59m58s back"},
		"clock set forward":        {examined("system/clock-jumps.txt", "1795770000 +3600\nnonsense\n"), "warning the clock has jumped", "by 1h0m0s forward"},
		"clock never set":          {examined("system/clock-jumps.txt", ""), "", ""},
		"failed unit":              {examined("units/state.txt", "Id=backup.service\nActiveState=failed\nResult=exit-code\nExecMainStatus=3\n"), "warning a unit of the host has failed", "backup.service: exit-code, exit status 3"},
		"failed unit of a row":     {examined("units/state.txt", "Id=etcd.service\nActiveState=failed\n"), "", ""},
		"restarts":                 {examined("units/state.txt", "Id=etcd.service\nNRestarts=3\n\nId=kubelet.service\nNRestarts=2\n"), "warning a unit was restarted by systemd", "etcd.service: 3 restarts"},
		"crash loop of the system": {examined("pods/restarts.txt", "9 100 kube-system_coredns-1_0b7f/coredns/\n"), "critical a container of the system restarts again and again (CrashLoop)", "kube-system/coredns-1, container coredns: 9 restarts, last log 100 s ago"},
		"crash loop":               {examined("pods/restarts.txt", "9 100 default_web-1_0b7f/web/\n"), "warning a container restarts again and again (CrashLoop)", "default/web-1"},
		"restarted long ago":       {examined("pods/restarts.txt", "9 90000 default_web-1_0b7f/web/\n"), "info a container was restarted often", "25 h ago"},
		"few restarts":             {examined("pods/restarts.txt", "4 1 default_web-1_0b7f/web/\n"), "", ""},
		"no memory":                {examined("system/kernel.log", "k: Out of memory: Killed process 7 (etcd)\nk: Out of memory: Killed process 8 (java)\n"), "critical the kernel has killed processes: no memory", "2 times, last: k: Out of memory: Killed process 8"},
		"limit of a pod":           {examined("system/kernel.log", "k: Memory cgroup out of memory: Killed process 8 (java)\n"), "warning processes have exceeded their memory limit and were killed", "java"},
		"disk errors":              {examined("system/kernel.log", "k: blk_update_request: I/O error, dev sda, sector 1\n"), "critical errors of a disk or file system", "sda"},
		"XFS starts":               {examined("system/kernel.log", "k: XFS (vda1): Mounting V5 Filesystem\n"), "", ""},
		"slow disk of etcd":        {examined("units/etcd.service.log", strings.Repeat("slow fdatasync took 2s\n", 5)), "warning the disk of etcd is slow", "5 times"},
		"a slow write":             {examined("units/etcd.service.log", "slow fdatasync took 2s\n"), "", ""},
		"BGP": {examined("network/bird.txt", "Name Proto Table State Since Info\nn1 BGP --- start 10:00 Active\nn2 BGP --- up 10:00 Established\nkernel1 Kernel master4 up 10:00\n"),
			"warning sessions of BGP are down", "n1 (start 10:00 Active)"},
		"connections":       {examined("network/rules.txt", "conntrack: 95 of 100\n"), "warning the table of connections is almost full", "95 of 100"},
		"few connections":   {examined("network/rules.txt", "conntrack: 5 of 100\n"), "", ""},
		"no connections":    {examined("network/rules.txt", "conntrack:  of \n"), "", ""},
		"versions":          {Host{Name: "m1", Versions: map[string]string{"kubelet": "v1.36.2", "etcd": "v3.6.8"}, Wanted: map[string]string{"kubelet": "v1.36.3", "etcd": "v3.6.8", "containerd": "v2"}}, "warning versions differ from the inventory", "kubelet v1.36.2 instead of v1.36.3"},
		"blocked":           {examined("system/processes.txt", strings.Repeat("7 1 root D 10 0.0 0.0 100 dd\n", 5)), "warning processes wait for a disk or a network file system", "5 in state D: dd"},
		"handlers":          {examined("runs/journals.txt", "==> 2026\n{}\n==> pending handlers\n{\"name\":\"restart\"}\n"), "warning handlers of an interrupted run are pending", "restart"},
		"no handlers":       {examined("runs/journals.txt", "==> 2026\n{}\n==> pending handlers\n"), "", ""},
		"reboot":            {examined("system/summary.txt", "/run/reboot-required\n"), "info reboot required", "/run"},
		"a task that fails": {Host{Name: "m1", Failures: []Failure{{"collect a", "took longer than 1m"}}}, "info a part of the examination failed", "collect a: took longer"},
		"garbage":           {examined("system/disks.txt", "\x00 % % % % %\n"), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Examine(c.host)
			if c.want == "" {
				if len(got) > 0 {
					t.Errorf("found %+v, want nothing", got)
				}
				return
			}
			if len(got) != 1 || got[0].Severity.String()+" "+got[0].Title != c.want || !strings.Contains(got[0].Evidence, c.text) || got[0].Host != "m1" {
				t.Errorf("found %+v, want %s with %q", got, c.want, c.text)
			}
		})
	}
}

func TestFromRows(t *testing.T) {
	t.Parallel()
	got := FromRows([]report.Row{
		report.OK("node", "n1", "Ready"),
		report.Bad("node", "n2", "not Ready: KubeletNotReady"),
		report.Bad("certificate /a.crt", "n2", "expired 3 days ago"),
		report.Bad("certificate /b.crt", "n2", "9 days left"),
		report.Bad("etcd members", "", "2 of 3 serve; not m1"),
		report.Bad("something", "n1", "odd").Advised("look"),
	})
	Sort(got)
	var titles []string
	for _, f := range got {
		titles = append(titles, f.Severity.String()+" "+f.Title+" "+f.Host)
	}
	want := []string{"critical a certificate has expired n2", "critical a node is not Ready n2", "critical etcd is not healthy ", "warning a certificate is not in order n2", "warning a check has found a problem n1"}
	if strings.Join(titles, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(titles, "\n"), strings.Join(want, "\n"))
	}
}

var guideText = regexp.MustCompile(`"((?:guides/)?[a-z-]+\.md)(?:#([a-z0-9-]+))?"`)

// TestGuidesExist follows the links of the rules to pages and their headings.
func TestGuidesExist(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range guideText.FindAllStringSubmatch(string(source), -1) {
			links++
			page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", m[1]))
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			if m[2] != "" && !hasHeading(string(page), m[2]) {
				t.Errorf("%s: docs/%s has no heading #%s", file, m[1], m[2])
			}
		}
	}
	if links < 5 {
		t.Errorf("%d links found, want those of all rules", links)
	}
}

var notInAnchors = regexp.MustCompile(`[^a-z0-9 -]`)

func hasHeading(page, anchor string) bool {
	for line := range strings.Lines(page) {
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			if strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), ""), " ", "-") == anchor {
				return true
			}
		}
	}
	return false
}
