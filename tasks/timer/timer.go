// Package timer has the module for systemd timers, each with the service that it starts.
package timer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"deployer/engine"
	"deployer/strictyaml"
	"deployer/tasks/compose"
	"deployer/tasks/file"
	"deployer/tasks/hostcmd"
	"deployer/tasks/unit"
)

// Timer manages a systemd timer and the service that it starts, as units in
// /etc/systemd/system.
type Timer struct {
	Name             string            `yaml:"name" rule:"unit" required:"true" doc:"name of the units, NAME.timer and NAME.service"`
	Description      string            `yaml:"description" rule:"line" doc:"description for people; default the name"`
	Command          hostcmd.Words     `yaml:"command" rule:"text" doc:"program with an absolute path and its arguments, as a list or a text, without a shell. Required for present"`
	OnCalendar       strictyaml.Texts  `yaml:"on_calendar" rule:"calendar" doc:"time of the runs, such as daily or Mon..Fri 03:00, or a list; see systemd.time(7)"`
	OnBoot           time.Duration     `yaml:"on_boot" range:"0s.." doc:"delay after the boot; may be combined with on_calendar. Default: no run at boot"`
	Every            time.Duration     `yaml:"every" range:"0s.." doc:"interval since the start of the last run, or since the boot; default none"`
	RandomizedDelay  time.Duration     `yaml:"randomized_delay" range:"0s.." doc:"maximum random delay, so that hosts do not start at the same time; default none"`
	Persistent       bool              `yaml:"persistent" doc:"with on_calendar: run at boot if a run was missed while the host was off. Default false"`
	User             string            `yaml:"user" rule:"owner" doc:"user who runs the command; default root"`
	WorkingDirectory string            `yaml:"working_directory" rule:"path" doc:"absolute path; default /"`
	Environment      map[string]string `yaml:"environment" rule:"line" keys:"environment" doc:"environment variables, readable by every user of the host"`
	Service          map[string]string `yaml:"service" rule:"line" keys:"directive" doc:"additional lines of the [Service] section, as in MemoryMax: 1G; default none"`
	State            string            `yaml:"state" enum:"present,absent" doc:"present (enabled and started) or absent. Default present"`
}

var _ engine.Module = (*Timer)(nil)

var plainName = regexp.MustCompile(`^[A-Za-z0-9:_.\\@-]+$`)

// Valid implements engine.Validator.
func (t *Timer) Valid() error {
	switch {
	case !plainName.MatchString(t.Name) || strings.HasSuffix(t.Name, ".timer") || strings.HasSuffix(t.Name, ".service"):
		return fmt.Errorf("%q is not the name of a unit without its suffix", t.Name)
	case t.State == "absent":
		return nil
	case len(t.Command) == 0 || !strings.HasPrefix(t.Command[0], "/"):
		return errors.New("command is missing, or does not begin with the absolute path of a program")
	case len(t.OnCalendar) == 0 && t.OnBoot == 0 && t.Every == 0:
		return errors.New("on_calendar, on_boot or every is required")
	}
	for key, value := range lines(t) {
		if strings.ContainsAny(key+value, "\n\r") {
			return fmt.Errorf("%s has more than one line", key)
		}
	}
	return nil
}

func lines(t *Timer) map[string]string {
	all := map[string]string{"description": t.Description, "user": t.User, "working_directory": t.WorkingDirectory,
		"on_calendar": strings.Join(t.OnCalendar, " "), "command": strings.Join(t.Command, " ")}
	for _, more := range []map[string]string{t.Environment, t.Service} {
		maps.Copy(all, more)
	}
	return all
}

// service returns the text of the service unit.
func (t *Timer) service() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Written by deployer.\n[Unit]\nDescription=%s\n\n[Service]\nType=oneshot\nExecStart=%s\n",
		percent(cmp.Or(t.Description, t.Name)), commandLine(t.Command))
	if t.User != "" {
		fmt.Fprintf(&b, "User=%s\n", t.User)
	}
	if t.WorkingDirectory != "" {
		fmt.Fprintf(&b, "WorkingDirectory=%s\n", percent(t.WorkingDirectory))
	}
	for _, key := range slices.Sorted(maps.Keys(t.Environment)) {
		fmt.Fprintf(&b, "Environment=%s\n", quoted(percent(key+"="+t.Environment[key])))
	}
	for _, key := range slices.Sorted(maps.Keys(t.Service)) {
		fmt.Fprintf(&b, "%s=%s\n", key, t.Service[key])
	}
	return b.String()
}

// timer returns the text of the timer unit.
func (t *Timer) timer() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Written by deployer.\n[Unit]\nDescription=%s\n\n[Timer]\n", percent("When to run: "+cmp.Or(t.Description, t.Name)))
	for _, when := range t.OnCalendar {
		fmt.Fprintf(&b, "OnCalendar=%s\n", when)
	}
	boot := t.OnBoot
	if t.Every > 0 {
		fmt.Fprintf(&b, "OnUnitActiveSec=%s\n", seconds(t.Every))
		boot = cmp.Or(boot, t.Every) // OnUnitActiveSec alone never triggers a first run
	}
	if boot > 0 {
		fmt.Fprintf(&b, "OnBootSec=%s\n", seconds(boot))
	}
	if t.RandomizedDelay > 0 {
		fmt.Fprintf(&b, "RandomizedDelaySec=%s\n", seconds(t.RandomizedDelay))
	}
	if t.Persistent {
		b.WriteString("Persistent=true\n")
	}
	b.WriteString("\n[Install]\nWantedBy=timers.target\n")
	return b.String()
}

func seconds(d time.Duration) string { return fmt.Sprintf("%gs", d.Seconds()) }

// percent escapes the % of systemd's specifiers.
func percent(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// commandLine quotes words for systemd; see systemd.service(5), COMMAND LINES.
func commandLine(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = quoted(strings.ReplaceAll(percent(w), "$", "$$"))
	}
	return strings.Join(out, " ")
}

func quoted(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\"'\\;") {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
}

func (t *Timer) parts() []engine.Module {
	yes, no := true, false
	service, timer := t.Name+".service", t.Name+".timer"
	if t.State == "absent" {
		return []engine.Module{
			&unit.Unit{Name: timer, State: "stopped", Enabled: &no},
			&file.Absent{Paths: []string{"/etc/systemd/system/" + timer, "/etc/systemd/system/" + service}},
		}
	}
	return []engine.Module{
		&unit.Unit{Name: service, Content: t.service()},
		&unit.Unit{Name: timer, Content: t.timer(), Enabled: &yes, State: "started"},
	}
}

// Check compares the units, and has systemd validate the times.
func (t *Timer) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if err := t.Valid(); err != nil {
		return engine.Change{}, err
	}
	if len(t.OnCalendar) > 0 && t.State != "absent" {
		if _, err := hostcmd.Run(ctx, sys, append([]string{"systemd-analyze", "calendar", "--"}, t.OnCalendar...)...); err != nil {
			return engine.Change{}, fmt.Errorf("on_calendar: %w", err)
		}
	}
	return compose.Check(ctx, sys, t.parts()...)
}

// Apply writes the units and enables the timer, or removes both.
func (t *Timer) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	out, err := compose.Apply(ctx, sys, t.parts()...)
	if err == nil && t.State == "absent" {
		_, err = hostcmd.Run(ctx, sys, "systemctl", "daemon-reload")
	}
	return out, err
}
