package archive

import (
	"context"
	"errors"
	"fmt"

	"deployer/engine"
)

// Unarchive unpacks an archive of the role, or one that is on the host.
type Unarchive struct {
	Src       string   `yaml:"src" rule:"line" required:"true" doc:"name of the archive in the role's files directory: tar (plain, gzip, zstd, xz or bzip2) or zip"`
	Dest      string   `yaml:"dest" rule:"path" required:"true" doc:"absolute path of the directory to unpack into; created if missing"`
	RemoteSrc bool     `yaml:"remote_src" doc:"src is an absolute path on the host; default false"`
	Strip     int      `yaml:"strip_components" range:"0.." doc:"number of leading directories removed from each name; members with fewer are left out. Default 0"`
	Include   []string `yaml:"include" rule:"glob" doc:"patterns such as bin/*, matched after strip_components: unpack only members that match, or are below a match; default all"`
	Exclude   []string `yaml:"exclude" rule:"glob" doc:"patterns of members to leave out"`
	Owner     string   `yaml:"owner" rule:"owner" doc:"user name or number of the unpacked files; default the agent's user, not that of the archive"`
	Group     string   `yaml:"group" rule:"owner" doc:"group name or number of the unpacked files; default the agent's"`
	Creates   string   `yaml:"creates" rule:"path" doc:"absolute path; nothing is unpacked if it exists"`
	Follow    bool     `yaml:"follow" doc:"accept a symbolic link to a directory at dest, or of another user above it; default false"`
}

// Prepare makes the archive available to the host.
func (u *Unarchive) Prepare(ctx context.Context, c engine.PrepareContext) (string, engine.Module, error) {
	if u.Src == "" {
		return "", nil, errors.New("src is missing")
	}
	m := &Unpack{
		Name: u.Src, Dest: u.Dest, Strip: u.Strip, Include: u.Include, Exclude: u.Exclude,
		Owner: u.Owner, Group: u.Group, Creates: u.Creates, Follow: u.Follow,
	}
	if u.RemoteSrc {
		m.From = u.Src
		return "unpack", m, nil
	}
	blob, err := c.FileBlob(ctx, u.Src)
	if err != nil {
		return "", nil, fmt.Errorf("reading %s: %w", u.Src, err)
	}
	m.Blob = blob.Digest
	return "unpack", m, nil
}
