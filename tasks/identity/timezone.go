package identity

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"deployer/engine"
	"deployer/tasks/compose"
	"deployer/tasks/file"
)

// Timezone manages the host's time zone. Running programs read it at their start only.
type Timezone struct {
	Name string `yaml:"name" rule:"zone" required:"true" doc:"time zone such as Europe/Berlin or UTC; the host must have its data (package tzdata)"`
}

var _ engine.Module = (*Timezone)(nil)

const (
	zones     = "/usr/share/zoneinfo/"
	localtime = "/etc/localtime"
	nameFile  = "/etc/timezone" // Debian's own copy of the name
)

func (z *Timezone) parts(sys engine.System, applies bool) ([]engine.Module, error) {
	if !fs.ValidPath(z.Name) || z.Name == "." {
		return nil, fmt.Errorf("%q is not a time zone such as Europe/Berlin", z.Name)
	}
	info, err := os.Stat(sys.Path(zones + z.Name))
	if _, none := os.Stat(sys.Path(zones)); none != nil && !applies {
		err = nil // an earlier step, which a dry run does not execute, may install tzdata
	}
	if err != nil || info != nil && info.IsDir() {
		return nil, fmt.Errorf("unknown time zone %q: the names are the files below %s, which the package tzdata installs", z.Name, zones)
	}
	parts := []engine.Module{&file.Link{Path: localtime, To: z.target(sys), Force: true}}
	if _, err := os.Lstat(sys.Path(nameFile)); err == nil {
		parts = append(parts, &file.File{Path: nameFile, Content: new(z.Name + "\n")})
	}
	return parts, nil
}

// target is the text of the link. timedatectl creates a relative link, which is accepted
// too.
func (z *Timezone) target(sys engine.System) string {
	have, err := os.Readlink(sys.Path(localtime))
	if err == nil && strings.TrimPrefix(have, "..") == zones+z.Name {
		return have
	}
	return zones + z.Name
}

// Check reads the target of /etc/localtime.
func (z *Timezone) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	parts, err := z.parts(sys, false)
	if err != nil {
		return engine.Change{}, err
	}
	return compose.Check(ctx, sys, parts...)
}

// Apply replaces the link.
func (z *Timezone) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	parts, err := z.parts(sys, true)
	if err != nil {
		return nil, err
	}
	return compose.Apply(ctx, sys, parts...)
}
