package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// The names of the measured tools.
const (
	toolDeployer = "deployer"
	toolAnsible  = "ansible"
	toolMitogen  = "mitogen"
	toolFloor    = "floor"
)

func toolNames() []string { return []string{toolDeployer, toolFloor, toolAnsible, toolMitogen} }

// mitogen is the directory of the strategies of Debian's package ansible-mitogen.
const mitogen = "/usr/lib/python3/dist-packages/ansible_mitogen/plugins/strategy"

// invocation is the command that starts a tool on the controller.
type invocation struct {
	argv []string
	dir  string
	env  []string
}

// invocation returns the invocation of a tool. scratch is a new directory for the
// files that the tool leaves on the controller, such as the sockets of connections,
// so that each run begins without them.
func (b *benchmark) invocation(tool, scratch string) invocation {
	m := b.material
	ansible := invocation{argv: []string{"ansible-playbook", "site.yaml"}, dir: m.path("ansible"), env: []string{
		"ANSIBLE_CONFIG=" + m.path("ansible", "ansible.cfg"), "ANSIBLE_SSH_CONTROL_PATH_DIR=" + scratch, "ANSIBLE_LOCAL_TEMP=" + scratch,
		"ANSIBLE_NOCOLOR=1", "LC_ALL=C.UTF-8",
	}}
	switch tool {
	case toolDeployer:
		return invocation{argv: []string{b.deployer, "run", "site.yaml", "-i", "inventory.yaml"}, dir: m.path("deployer"), env: []string{"XDG_STATE_HOME=" + scratch}}
	case toolMitogen:
		ansible.env = append(ansible.env, "ANSIBLE_STRATEGY=mitogen_linear", "ANSIBLE_STRATEGY_PLUGINS="+mitogen)
	case toolFloor:
		return invocation{argv: []string{"sh", "-c", m.everywhere(func(h string) string { return m.path("scripts", h) })}, dir: m.dir}
	}
	return ansible
}

// start runs a tool as the lab's controller. The benchmark measures the duration of
// this call, which therefore does nothing else before the tool has ended. controller
// is the tool's processor time on the controller.
func (b *benchmark) start(ctx context.Context, tool, scratch string) (output string, controller time.Duration, err error) {
	how := b.invocation(tool, scratch)
	cmd := b.lab.Command(ctx, how.argv...)
	cmd.Dir, cmd.Env = how.dir, append(os.Environ(), how.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), 0, fmt.Errorf("%s: %w\n%s", tool, err, tail(string(out)))
	}
	return string(out), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// hangUp ends the connections that Ansible's OpenSSH keeps open after a run.
func (b *benchmark) hangUp(ctx context.Context, scratch string) {
	sockets, _ := filepath.Glob(filepath.Join(scratch, "*"))
	for _, s := range sockets {
		_ = b.lab.Command(ctx, "ssh", "-o", "ControlPath="+s, "-O", "exit", "any").Run()
	}
}

// changedWords find the number of changes in the output of each tool: Ansible and the
// script print it for each host, deployer for all hosts.
var changedWords = map[string]*regexp.Regexp{
	toolDeployer: regexp.MustCompile(`(?m)^site\.yaml .*?(\d+) changed`),
	toolAnsible:  regexp.MustCompile(`(?m)changed=(\d+)`),
	toolMitogen:  regexp.MustCompile(`(?m)changed=(\d+)`),
	toolFloor:    regexp.MustCompile(`(?m)^changed=(\d+)`),
}

// changes returns the total number of changed tasks that a tool has printed.
func changes(tool, output string) (int, error) {
	found := changedWords[tool].FindAllStringSubmatch(output, -1)
	if len(found) == 0 {
		return 0, fmt.Errorf("%s does not say what it has changed:\n%s", tool, tail(output))
	}
	sum := 0
	for _, m := range found {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// tail returns the end of a text.
func tail(text string) string { return text[max(0, len(text)-3000):] }
