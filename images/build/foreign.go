package build

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// withForeignLists returns the cache with lists of its own for the architecture, when that
// is not this machine's: apt then needs neither root nor `dpkg --add-architecture`. The
// lists come from the sources of the machine, and are fetched when there are none or the
// machine's are newer.
func (c debCache) withForeignLists(ctx context.Context, dir string) (debCache, error) {
	if c.arch == runtime.GOARCH {
		return c, nil
	}
	lists := filepath.Join(dir, c.arch, "lists")
	cache := filepath.Join(dir, c.arch, "cache")
	for _, sub := range []string{filepath.Join(lists, "partial"), filepath.Join(cache, "archives", "partial")} {
		if err := os.MkdirAll(sub, 0o755); err != nil {
			return c, err
		}
	}
	for option, value := range map[string]string{
		"APT::Architecture": c.arch, "APT::Architectures": c.arch, "APT::Sandbox::User": "root",
		"Dir::State::Lists": lists, "Dir::State::status": os.DevNull, "Dir::Cache": cache,
	} {
		c.apt = append(c.apt, "-o", option+"="+value)
	}
	if newest(lists).Before(newest(aptLists)) || newest(lists).IsZero() {
		if _, err := run(ctx, "", nil, "apt-get", append([]string{"-qq"}, append(c.apt, "update")...)...); err != nil {
			return c, fmt.Errorf("lists of Debian packages for %s: %w", c.arch, err)
		}
		now := time.Now()
		if err := os.Chtimes(lists, now, now); err != nil {
			return c, err
		}
	}
	fingerprint, err := listsFingerprint(lists)
	c.lists = fingerprint
	return c, err
}

// newest returns the time of the last update of a directory of lists; zero when it has
// none.
func newest(dir string) time.Time {
	files, err := filepath.Glob(filepath.Join(dir, "*_*"))
	if err != nil || len(files) == 0 {
		return time.Time{}
	}
	info, err := os.Stat(dir)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
