package cron

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/tasktest"
)

func TestFiles(t *testing.T) {
	t.Parallel()
	const backup = "# deployer: backup\n0 3 * * 1-5 root /usr/bin/backup\n"
	job := Cron{Name: "backup", Job: "/usr/bin/backup", Minute: "0", Hour: "3", Weekday: "1-5", CronFile: "site"}
	for name, tt := range map[string]struct {
		have   string
		change func(c *Cron)
		want   string // "-" for no file
	}{
		"new":                {"-", nil, backup},
		"with other entries": {"# mine\nMAILTO=ops\n* * * * * root x", nil, "# mine\nMAILTO=ops\n* * * * * root x\n" + backup},
		"changed time":       {"# deployer: backup\n1 1 * * * root old\n# deployer: backup two\n@daily root y\n", nil, backup + "# deployer: backup two\n@daily root y\n"},
		"at boot": {"-", func(c *Cron) { *c = Cron{Name: "b", Job: "x", User: "app", SpecialTime: "reboot", CronFile: "site"} },
			"# deployer: b\n@reboot app x\n"},
		"disabled":                     {backup, func(c *Cron) { c.Disabled = true }, "# deployer: backup\n# 0 3 * * 1-5 root /usr/bin/backup\n"},
		"duplicate entry":              {backup + "# x\n" + backup, nil, backup + "# x\n"},
		"absent":                       {"# mine\n" + backup + "# end\n", func(c *Cron) { c.State = "absent" }, "# mine\n# end\n"},
		"absent, the last entry":       {backup, func(c *Cron) { c.State = "absent" }, "-"},
		"a job of Ansible's":           {"#Ansible: backup\n1 1 * * * root old\n", nil, backup},
		"a job of Ansible's, disabled": {"# mine\n#Ansible: backup\n#1 1 * * * root old\n#Ansible: other\n@daily root y\n", nil, "# mine\n" + backup + "#Ansible: other\n@daily root y\n"},
		"a job of Ansible's, absent":   {"#Ansible: backup\n1 1 * * * root old\n# end\n", func(c *Cron) { c.State = "absent" }, "# end\n"},
		"mark without a job":           {"# deployer: backup", nil, backup},
	} {
		sys := tasktest.New(t)
		sys.Mkdir(t, "/etc/cron.d")
		if tt.have != "-" {
			sys.Write(t, "/etc/cron.d/site", tt.have, 0o644)
		}
		m := job
		if tt.change != nil {
			tt.change(&m)
		}
		tasktest.Converge(t, sys, &m)
		got := "-"
		if _, err := os.Stat(sys.Path("/etc/cron.d/site")); err == nil {
			got = sys.Read(t, "/etc/cron.d/site")
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if !slices.Equal(sys.Kept(), []string{"/etc/cron.d/site"}) {
			t.Errorf("%s: kept %q", name, sys.Kept())
		}
	}
}

// TestCrontab uses crontab(1), as the directory of crontabs depends on the distribution.
func TestCrontab(t *testing.T) {
	t.Parallel()
	tables := map[string]string{}
	sys := tasktest.New(t)
	sys.Mkdir(t, "/var/spool/cron/crontabs")
	sys.Exec = func(_ context.Context, cmd engine.Command) (engine.CommandResult, error) {
		user := cmd.Argv[2]
		if cmd.Argv[3] == "-" {
			tables[user] = string(cmd.Stdin)
			return engine.CommandResult{}, nil
		}
		if _, ok := tables[user]; !ok {
			return engine.CommandResult{Exit: 1, Stderr: "no crontab for " + user + "\n"}, nil
		}
		return engine.CommandResult{Stdout: tables[user]}, nil
	}
	m := &Cron{Name: "tidy", Job: "find /srv -empty -delete", SpecialTime: "daily", User: "app"}
	change := tasktest.Converge(t, sys, m)
	if want := "# deployer: tidy\n@daily find /srv -empty -delete\n"; tables["app"] != want || len(tables) != 1 {
		t.Errorf("tables %q", tables)
	}
	if !strings.Contains(change.Effects[0].Diff, "+@daily find") || !slices.Equal(sys.Kept(), []string{"/var/spool/cron/crontabs/app"}) {
		t.Errorf("effects %+v, kept %q", change.Effects, sys.Kept())
	}
	m.State = "absent"
	tasktest.Converge(t, sys, m)
	if tables["app"] != "" {
		t.Errorf("left %q", tables["app"])
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]*Cron{
		"cannot contain line feeds": {Name: "a", Job: "x\n* * * * * root y"},
		"job is missing":            {Name: "a"},
		"as cron ignores others":    {Name: "a", Job: "x", CronFile: "a.sh"},
		"is not a user":             {Name: "a", Job: "x", User: "a b"},
		"exclude each other":        {Name: "a", Job: "x", SpecialTime: "daily", Hour: "1"},
		"want hours of crontab(5)":  {Name: "a", Job: "x", Hour: "1 2"},
		"no crontab program":        {Name: "a", Job: "x"},
		"user nobody is bound":      {Name: "a", Job: "x", User: "nobody"},
	} {
		sys := tasktest.New(t)
		sys.Exec = func(_ context.Context, cmd engine.Command) (engine.CommandResult, error) {
			if cmd.Argv[2] == "nobody" {
				return engine.CommandResult{Exit: 1, Stderr: "user nobody is bound to nothing\n"}, nil
			}
			return engine.CommandResult{}, errors.New("not found")
		}
		if _, _, err := tasktest.Run(t, sys, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
