// Package download has the module that downloads files to hosts, either by the host
// itself or through the controller.
package download

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"

	"deployer/engine"
	"deployer/tasks/file"
	"deployer/tasks/hostcmd"
	"deployer/tasks/hostfile"
	"deployer/tasks/receipt"
)

// Download downloads a file to the host. The digest is required: the content at an
// address may change, the result of a playbook must not.
type Download struct {
	URL      string            `yaml:"url" rule:"url" required:"true" doc:"http or https URL"`
	Dest     string            `yaml:"dest" rule:"path" required:"true" doc:"absolute path on the host; a directory if it ends with a slash: the file is named like the last part of the URL"`
	SHA256   string            `yaml:"sha256" rule:"sha256" required:"true" doc:"hex SHA-256 of the content"`
	Via      string            `yaml:"via" enum:"host,controller" doc:"downloading machine: host, or controller to download once for all hosts; default host"`
	Headers  map[string]string `yaml:"headers" rule:"line" keys:"token" doc:"additional request headers, such as Authorization; only for downloads by the host"`
	Proxy    string            `yaml:"proxy" rule:"proxy" doc:"URL of the proxy; default: http_proxy, https_proxy and no_proxy in the environment of the downloading machine"`
	Mode     string            `yaml:"mode" rule:"mode" doc:"octal mode; default: that of the existing file, \"0644\" for a new one"`
	Owner    string            `yaml:"owner" rule:"owner" doc:"user name or number; default: that of the existing file"`
	Group    string            `yaml:"group" rule:"owner" doc:"group name or number; default: that of the existing file"`
	Follow   bool              `yaml:"follow" doc:"write through a symbolic link at dest; default false"`
	Backup   bool              `yaml:"backup" doc:"copy the replaced file to PATH.RUN~; the output field backup_file names the copy. Default false"`
	Validate hostcmd.Words     `yaml:"validate" rule:"text" doc:"command that must succeed before the file is replaced, as a text or a list; %s is the path of the new content"`
}

// Prepare downloads the file to the controller, or leaves that to the host.
func (d *Download) Prepare(ctx context.Context, c engine.PrepareContext) (string, engine.Module, error) {
	u, err := address(d.URL)
	if err != nil {
		return "", nil, err
	}
	h := &Host{
		URL: d.URL, Dest: d.Dest, SHA256: strings.ToLower(d.SHA256), Headers: d.Headers, Proxy: d.Proxy, Mode: d.Mode,
		Owner: d.Owner, Group: d.Group, Follow: d.Follow, Backup: d.Backup, Validate: d.Validate,
	}
	if strings.HasSuffix(h.Dest, "/") {
		h.Dest = path.Join(h.Dest, path.Base(u.Path))
	}
	if d.Via != "controller" {
		return "host_download", h, h.Valid()
	}
	if len(d.Headers) > 0 || d.Proxy != "" {
		return "", nil, errors.New("headers and proxy apply to downloads by the host; the controller uses the proxy of its environment")
	}
	if err := h.Valid(); err != nil {
		return "", nil, err
	}
	blob, err := c.Download(ctx, d.URL, h.SHA256)
	if err != nil {
		return "", nil, fmt.Errorf("downloading to the controller: %w", err)
	}
	f := h.file()
	f.Blob = blob.Digest
	return "file", f, nil
}

func address(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("url is not an http or https address") // the text may contain a password
	}
	return u, nil
}

// Host downloads a file from the host itself.
type Host struct {
	URL      string            `yaml:"url" rule:"url" required:"true" doc:"http or https URL"`
	Dest     string            `yaml:"dest" rule:"path" required:"true" doc:"absolute path on the host"`
	SHA256   string            `yaml:"sha256" rule:"sha256" required:"true" doc:"hex SHA-256 of the content"`
	Headers  map[string]string `yaml:"headers" rule:"line" keys:"token" doc:"additional request headers, such as Authorization"`
	Proxy    string            `yaml:"proxy" rule:"proxy" doc:"URL of the proxy; default: http_proxy, https_proxy and no_proxy in the agent's environment"`
	Mode     string            `yaml:"mode" rule:"mode" doc:"octal mode; default: that of the existing file, \"0644\" for a new one"`
	Owner    string            `yaml:"owner" rule:"owner" doc:"user name or number; default: that of the existing file"`
	Group    string            `yaml:"group" rule:"owner" doc:"group name or number; default: that of the existing file"`
	Follow   bool              `yaml:"follow" doc:"write through a symbolic link at dest; default false"`
	Backup   bool              `yaml:"backup" doc:"copy the replaced file to PATH.RUN~. Default false"`
	Validate hostcmd.Words     `yaml:"validate" rule:"text" doc:"command that must succeed before the file is replaced; %s is the path of the new content"`
}

var (
	_ engine.Preparer = (*Download)(nil)
	_ engine.Module   = (*Host)(nil)
)

// Valid implements engine.Validator.
func (h *Host) Valid() error {
	if _, err := address(h.URL); err != nil {
		return err
	}
	if raw, err := hex.DecodeString(h.SHA256); err != nil || len(raw) != 32 {
		return fmt.Errorf("sha256 %q is not a SHA-256 in hex, which has 64 digits", h.SHA256)
	}
	if h.Proxy != "" {
		if _, err := address(h.Proxy); err != nil {
			return errors.New("proxy is not an http or https address")
		}
	}
	for name := range h.Headers {
		if http.CanonicalHeaderKey(name) == "Range" {
			return errors.New("the header Range is reserved")
		}
	}
	return nil
}

// file returns the module that writes the file.
func (h *Host) file() *file.File {
	return &file.File{
		Path: h.Dest, Mode: h.Mode, Owner: h.Owner, Group: h.Group, Follow: h.Follow, Backup: h.Backup, Validate: h.Validate,
	}
}

// record is the receipt of a download; it spares hashing a large file in every run.
type record struct {
	receipt.Stamp
	SHA256 string `json:"sha256"`
}

func (h *Host) receiptPath() string { return receipt.Path("download", h.Dest) }

// wanted returns the module for the file, without content when the file has it already.
func (h *Host) wanted(sys engine.System) (f *file.File, have bool) {
	f = h.file()
	var rec record
	stamp, err := receipt.Take(sys, h.Dest)
	if err == nil && receipt.Read(sys, h.receiptPath(), &rec) && rec.SHA256 == h.SHA256 && rec.Stamp == stamp {
		return f, true
	}
	if sum, err := hostfile.SHA256(sys, h.Dest); err == nil && sum == h.SHA256 {
		return f, true
	}
	f.Blob = h.SHA256
	return f, false
}

// Check compares the digests.
func (h *Host) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if err := h.Valid(); err != nil {
		return engine.Change{}, err
	}
	f, have := h.wanted(sys)
	change, err := f.Check(ctx, sys)
	if !have {
		u, _ := address(h.URL) // valid has parsed it
		for i := range change.Effects {
			change.Effects[i].Action += " from " + u.Redacted()
		}
	}
	return change, err
}
