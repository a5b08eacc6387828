package container

import (
	"context"
	"strings"

	"deployer/test/lab/machine"
	"deployer/test/lab/plan"
)

// Found is a container of a lab.
type Found struct {
	Name, Lab string
	Running   bool
}

// Containers lists the containers of all labs, in any state.
func (e Engine) Containers(ctx context.Context) ([]Found, error) {
	out, err := e.run(ctx, "ps", "--all", "--filter=label="+plan.Label, `--format={{.Names}} {{.State}}`)
	if err != nil {
		return nil, err
	}
	var found []Found
	for line := range strings.Lines(out) {
		name, state, _ := strings.Cut(strings.TrimSpace(line), " ")
		if lab, ok := plan.LabOf(name); ok {
			found = append(found, Found{Name: name, Lab: lab, Running: up(state)})
		}
	}
	return found, nil
}

// Volumes lists the volumes of all labs by name.
func (e Engine) Volumes(ctx context.Context) ([]string, error) {
	out, err := e.run(ctx, "volume", "ls", "--format={{.Name}}")
	if err != nil {
		return nil, err
	}
	var names []string
	for name := range strings.Lines(out) {
		name = strings.TrimSpace(name)
		if _, ok := plan.LabOf(name); ok {
			names = append(names, name)
		}
	}
	return names, nil
}

// Remove kills and removes containers.
func (e Engine) Remove(ctx context.Context, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	args := []string{"rm", "--force", "--volumes"}
	if e.kind == machine.Podman {
		args = append(args, "--time=0") // podman else asks the host to shut down first
	}
	_, err := e.run(ctx, append(args, names...)...)
	return err
}

// RemoveVolumes removes unused volumes.
func (e Engine) RemoveVolumes(ctx context.Context, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	_, err := e.run(ctx, append([]string{"volume", "rm", "--force"}, names...)...)
	return err
}

// up parses the state column: docker prints "running", podman 4 "Up 3 seconds".
func up(state string) bool {
	state = strings.ToLower(state)
	return strings.HasPrefix(state, "running") || strings.HasPrefix(state, "up ")
}

// RemoveImages removes all host images.
func (e Engine) RemoveImages(ctx context.Context, repository string) error {
	out, err := e.run(ctx, "images", "--format={{.Repository}}:{{.Tag}}")
	if err != nil {
		return err
	}
	args := []string{"rmi", "--force"}
	for ref := range strings.Lines(out) {
		if ref = strings.TrimSpace(ref); strings.HasPrefix(ref, repository+":") {
			args = append(args, ref)
		}
	}
	if len(args) == 2 {
		return nil
	}
	_, err = e.run(ctx, args...)
	return err
}
