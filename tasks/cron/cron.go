// Package cron has the module for cron jobs, in a file of /etc/cron.d or in the crontab
// of a user.
package cron

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"deployer/argrule"
	"deployer/engine"
	"deployer/tasks/file"
	"deployer/tasks/hostcmd"
	"deployer/tasks/hostfile"
)

// Cron manages a cron job. A comment before the line of the job holds its name, by which
// the module finds it.
type Cron struct {
	Name        string `yaml:"name" rule:"line" required:"true" doc:"name of the job, unique in its file or crontab"`
	Job         string `yaml:"job" rule:"line" doc:"command line; cron ends the line at a % unless written \\%. Required for present"`
	Minute      string `yaml:"minute" rule:"minute" doc:"as in 0, */5 or 1,31; default *"`
	Hour        string `yaml:"hour" rule:"hour" doc:"as minute; default *"`
	Day         string `yaml:"day" rule:"monthday" doc:"day of the month; default *"`
	Month       string `yaml:"month" rule:"month" doc:"number or English name; default *"`
	Weekday     string `yaml:"weekday" rule:"weekday" doc:"0 to 7, where 0 and 7 are Sunday, or English name; default *"`
	SpecialTime string `yaml:"special_time" enum:"reboot,hourly,daily,weekly,monthly,yearly" doc:"schedule by name instead of the five fields: reboot, hourly, daily, weekly, monthly or yearly"`
	User        string `yaml:"user" rule:"owner" doc:"user who runs the command; default root"`
	CronFile    string `yaml:"cron_file" rule:"cronfile" doc:"name of a file in /etc/cron.d, without dots; default: the crontab of the user"`
	Disabled    bool   `yaml:"disabled" doc:"comment the line out instead of removing it; default false"`
	State       string `yaml:"state" enum:"present,absent" doc:"present or absent; default present"`
}

var _ engine.Module = (*Cron)(nil)

// Valid implements engine.Validator.
func (c *Cron) Valid() error {
	switch {
	case strings.TrimSpace(c.Name) != c.Name || c.Name == "" || strings.ContainsAny(c.Name+c.Job+c.User, "\n\r"):
		return errors.New("name, job and user cannot contain line feeds")
	case c.Job == "" && c.State != "absent":
		return errors.New("job is missing")
	case c.User != "" && strings.ContainsAny(c.User, " \t/"):
		return fmt.Errorf("%q is not a user", c.User)
	case c.SpecialTime != "" && c.Minute+c.Hour+c.Day+c.Month+c.Weekday != "":
		return errors.New("special_time and minute, hour, day, month, weekday exclude each other")
	}
	for _, f := range []struct{ name, value, rule string }{
		{"minute", c.Minute, "minute"}, {"hour", c.Hour, "hour"}, {"day", c.Day, "monthday"}, {"month", c.Month, "month"}, {"weekday", c.Weekday, "weekday"},
		{"cron_file", c.CronFile, "cronfile"},
	} {
		if err := argrule.Check(f.rule, f.value); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}

func (c *Cron) user() string { return cmp.Or(c.User, "root") }

// line returns the line of the job; a line in /etc/cron.d names the user.
func (c *Cron) line() string {
	when := "@" + c.SpecialTime
	if c.SpecialTime == "" {
		var words []string
		for _, word := range []string{c.Minute, c.Hour, c.Day, c.Month, c.Weekday} {
			words = append(words, cmp.Or(word, "*"))
		}
		when = strings.Join(words, " ")
	}
	line := when + " " + c.Job
	if c.CronFile != "" {
		line = when + " " + c.user() + " " + c.Job
	}
	if c.Disabled {
		line = "# " + line
	}
	return line
}

const (
	mark = "# deployer: "
	// ansibleMark is the mark of Ansible's module; its jobs are taken over.
	ansibleMark = "#Ansible: "
)

// edit replaces the line behind the mark of the job, also behind Ansible's, whatever it
// contains, or appends both.
func (c *Cron) edit(table string) string {
	var b strings.Builder
	lines := strings.SplitAfter(table, "\n")
	placed := c.State == "absent"
	own := mark + c.Name + "\n" + c.line() + "\n"
	for i := 0; i < len(lines); i++ {
		if line := strings.TrimRight(lines[i], "\n"); line != mark+c.Name && line != ansibleMark+c.Name {
			b.WriteString(lines[i])
			continue
		}
		i++ // the line of the job is removed with its mark
		if !placed {
			placed = true
			b.WriteString(own)
		}
	}
	out := b.String()
	if !placed {
		if out != "" && !strings.HasSuffix(out, "\n") {
			out += "\n"
		}
		out += own
	}
	return out
}

// Check compares the table with the wanted one.
func (c *Cron) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if err := c.Valid(); err != nil {
		return engine.Change{}, err
	}
	if c.CronFile != "" {
		f, err := c.file(sys)
		if err != nil || f == nil {
			return engine.Change{}, err
		}
		return f.Check(ctx, sys)
	}
	have, err := c.crontab(ctx, sys)
	if err != nil {
		return engine.Change{}, err
	}
	want := c.edit(have)
	if want == have {
		return engine.NoChange(nil), nil
	}
	name := "crontab of " + c.user()
	return engine.Changed(engine.Effect{Kind: engine.EffectFile, Target: name, Action: "replace", Diff: hostfile.Diff(name, []byte(have), []byte(want))}), nil
}

// Apply writes the file, or installs the table with crontab(1), which validates it and
// notifies cron.
func (c *Cron) Apply(ctx context.Context, sys engine.System, change engine.Change) (engine.Output, error) {
	if c.CronFile != "" {
		f, err := c.file(sys)
		if err != nil || f == nil {
			return nil, err
		}
		return f.Apply(ctx, sys, change)
	}
	have, err := c.crontab(ctx, sys)
	if err != nil {
		return nil, err
	}
	for _, spool := range spools {
		if _, err := os.Stat(sys.Path(spool)); err == nil {
			if err := sys.Backup(spool + "/" + c.user()); err != nil {
				return nil, err
			}
			break
		}
	}
	_, err = hostcmd.RunCommand(ctx, sys, engine.Command{Argv: []string{"crontab", "-u", c.user(), "-"}, Stdin: []byte(c.edit(have))})
	return nil, err
}

// spools are the directories of users' tables on Debian, SUSE and Red Hat.
var spools = []string{"/var/spool/cron/crontabs", "/var/spool/cron/tabs", "/var/spool/cron"}

// crontab reads the user's table; a user without one has an empty table.
func (c *Cron) crontab(ctx context.Context, sys engine.System) (string, error) {
	argv := []string{"crontab", "-u", c.user(), "-l"}
	res, err := sys.Run(ctx, engine.Command{Argv: argv, Env: []string{"LC_ALL=C"}})
	switch {
	case err != nil:
		return "", fmt.Errorf("this host has no crontab program: install cron first, or use the module timer: %w", err)
	case res.Exit == 1 && strings.Contains(res.Stderr, "no crontab for"):
		return "", nil
	case res.Exit != 0:
		return "", hostcmd.Failed(argv, res)
	}
	return res.Stdout, nil
}

// file returns the module for the file of /etc/cron.d; nil when the file is as wanted. A
// file without jobs is removed.
func (c *Cron) file(sys engine.System) (*file.File, error) {
	path := "/etc/cron.d/" + c.CronFile
	have, err := os.ReadFile(sys.Path(path))
	if errors.Is(err, fs.ErrNotExist) {
		if c.State == "absent" {
			return nil, nil
		}
		err = nil
	}
	if err != nil {
		return nil, err
	}
	want := c.edit(string(have))
	switch {
	case c.State == "absent" && want == string(have):
		return nil, nil
	case strings.TrimSpace(want) == "":
		return &file.File{Path: path, State: "absent"}, nil
	}
	return &file.File{Path: path, Content: new(want), Mode: "0644"}, nil
}
