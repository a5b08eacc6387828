package identity

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/tasks/tasktest"
)

func TestTimezone(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		link string // of /etc/localtime; empty: it is a file
		want []string
	}{
		"other zone": {"/usr/share/zoneinfo/UTC", []string{"/etc/localtime: link to /usr/share/zoneinfo/Europe/Berlin instead of /usr/share/zoneinfo/UTC", "/etc/timezone: replace"}},
		"a file":     {"", []string{"/etc/localtime: replace the file by a link to /usr/share/zoneinfo/Europe/Berlin", "/etc/timezone: replace"}},
		"relative":   {"../usr/share/zoneinfo/Europe/Berlin", []string{"/etc/timezone: replace"}},
	} {
		sys := tasktest.New(t)
		sys.Write(t, "/usr/share/zoneinfo/Europe/Berlin", "TZif", 0o644)
		sys.Write(t, "/etc/timezone", "Etc/UTC\n", 0o644)
		if tt.link == "" {
			sys.Write(t, "/etc/localtime", "TZif", 0o644)
		} else if err := os.Symlink(tt.link, sys.Path("/etc/localtime")); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, tasktest.Actions(tasktest.Converge(t, sys, &Timezone{Name: "Europe/Berlin"}))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if got := sys.Read(t, "/etc/timezone"); got != "Europe/Berlin\n" {
			t.Errorf("%s: /etc/timezone is %q", name, got)
		}
	}
	sys := tasktest.New(t)
	sys.Mkdir(t, "/etc")
	if !tasktest.Check(t, sys, &Timezone{Name: "UTC"}).Needed {
		t.Error("a dry run before tzdata is there finds nothing to do")
	}
	if _, _, err := tasktest.Run(t, sys, &Timezone{Name: "UTC"}); err == nil {
		t.Error("a zone was set that is not there")
	}
	sys.Mkdir(t, "/usr/share/zoneinfo/Europe")
	for zone, want := range map[string]string{"../../etc/passwd": "is not a time zone", "Europe": "unknown time zone", "Europe/Berlni": "tzdata"} {
		if _, _, err := tasktest.Run(t, sys, &Timezone{Name: zone}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", zone, err)
		}
	}
}
