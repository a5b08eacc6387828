package pipeline_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"deployer/ci/report"
)

// workflowCommands returns the commands that a runner of GitHub takes from a log, and whether
// they are allowed at its end.
func workflowCommands(log string) (commands []string, allowed bool) {
	stopped := ""
	shape := regexp.MustCompile(`^\s*::([^: ]+)(?: [^:]*)?::(.*)$`)
	for line := range strings.Lines(log) {
		m := shape.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		switch {
		case m == nil:
		case stopped != "":
			if m[1] == stopped {
				stopped = ""
			}
		case m[1] == "stop-commands":
			stopped = m[2]
		default:
			commands = append(commands, m[1]+" "+m[2])
		}
	}
	return commands, stopped == ""
}

// TestHostsGiveNoCommands: what a verb of deployer prints is no command of the log, and no mark
// of a section. The commands of stages print both; those of stages that run at the same time
// have a prefix.
func TestHostsGiveNoCommands(t *testing.T) {
	stages := `stages:
  gate: {uses: gate}
  mask: {command: [sh, -c, 'echo "::add-mask::of-the-stage"; echo done'], needs: [gate]}
  deploy: {uses: deploy, environment: production, needs: [mask]}
  verify: {uses: verify, environment: production, needs: [deploy]}
  left: {command: [sh, -c, 'echo "::add-mask::left"'], needs: [verify]}
  right: {command: [sh, -c, 'echo "::add-mask::right"'], needs: [verify]}
`
	s := newSite(t, map[string]string{"inventory.yaml": inventoryOf("a", "v1.35.4", "n[1:2]"), "deployer.ci.yaml": stages})
	t.Setenv("TOKEN", "x\n::add-mask::of-a-host\n::stop-commands::guess\n::guess::\n##[add-path]/evil\n\x1b[0Ksection_start:1:a[collapsed=true]\r\x1b[0Khidden\n::error::of-a-host")
	o := s.options()
	o.LogCommands = &report.LogCommands{}
	s.out.WriteString(o.LogCommands.Stop())
	r, _ := s.run(o)
	s.requireOutcome(r, report.Deployed)
	s.out.WriteString(o.LogCommands.Allow() + "::notice::after\n")
	commands, allowed := workflowCommands(s.out.String())
	if want := []string{"add-mask of-the-stage", "notice after"}; !slices.Equal(commands, want) || !allowed {
		t.Errorf("commands %q, allowed %v\n%s", commands, allowed, s.out.String())
	}
	if strings.ContainsAny(s.out.String(), "\x1b\r") || !strings.Contains(s.out.String(), `\u001b[0Ksection_start:1:a[collapsed=true]\u000d\u001b[0Khidden`) {
		t.Errorf("control characters of a host:\n%q", s.out.String())
	}
	tokens := regexp.MustCompile(`::stop-commands::(\S+)`).FindAllStringSubmatch(strings.ReplaceAll(s.out.String(), "::stop-commands::guess", ""), -1)
	if len(tokens) != 2 || tokens[0][1] == tokens[1][1] || len(tokens[0][1]) < 20 {
		t.Errorf("tokens %q", tokens)
	}
}
