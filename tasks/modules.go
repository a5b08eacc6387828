// Package tasks is the table of the modules that run on hosts, and of the
// preparers that make their arguments on the controller. The agent links all of
// it: nothing heavy belongs below this package, except below control.
package tasks

import (
	"deployer/engine"
	"deployer/tasks/account"
	"deployer/tasks/archive"
	"deployer/tasks/artifact"
	"deployer/tasks/bgp"
	"deployer/tasks/bird"
	"deployer/tasks/boot"
	"deployer/tasks/certificate"
	"deployer/tasks/command"
	"deployer/tasks/content"
	"deployer/tasks/cri"
	"deployer/tasks/cron"
	"deployer/tasks/download"
	"deployer/tasks/edit"
	"deployer/tasks/examples"
	"deployer/tasks/file"
	"deployer/tasks/flow"
	"deployer/tasks/forward"
	"deployer/tasks/gather"
	"deployer/tasks/gitclone"
	"deployer/tasks/hostcheck"
	"deployer/tasks/identity"
	"deployer/tasks/image"
	"deployer/tasks/inspect"
	"deployer/tasks/kernel"
	"deployer/tasks/mount"
	"deployer/tasks/packages"
	"deployer/tasks/probe"
	"deployer/tasks/purge"
	"deployer/tasks/staticpod"
	"deployer/tasks/timer"
	"deployer/tasks/unit"
	"deployer/tasks/wait"
)

// Modules returns every kind of task that runs on hosts, with its preparers.
func Modules() []engine.Kind {
	return examples.In(restorable(limited([]engine.Kind{
		{Name: "absent", Doc: "Removes files, links and directories.", New: func() any { return &file.Absent{} }},
		{Name: "archive", Doc: "Makes an archive of files and directories of the host.", New: func() any { return &archive.Pack{} }},
		{Name: "artifact", Doc: "Installs a catalogued binary, or members of a catalogued archive.", New: func() any { return &artifact.Artifact{} }},
		{Name: "assert", Doc: "Ends the host's run unless conditions hold.", New: func() any { return &flow.Assert{} }},
		{Name: "authority_files", Doc: "Writes the files of the certificate authorities that the controller has for the host.", New: func() any { return &certificate.AuthorityFiles{} }},
		{Name: "authority_read", Doc: "Reads what a master holds of the certificate authorities.", New: func() any { return &certificate.AuthorityRead{} }},
		{Name: "authorized_key", Doc: "Makes sure of the public keys that let in to a user's account.", New: func() any { return &account.AuthorizedKey{} }},
		{Name: "bgp_password", Doc: "Writes the password of the BGP sessions, which the controller holds, for BIRD.", New: func() any { return &bgp.Password{} }},
		{Name: "bird_ready", Doc: "Waits until BIRD has its sessions and routes as before a change.", New: func() any { return &bird.Ready{} }},
		{Name: "bird_status", Doc: "Reads which BGP sessions are established and which routes the kernel has.", New: func() any { return &bird.Status{} }},
		{Name: "blob_install", Doc: "Installs a file, or members of an archive, from a blob; artifact is made of it.", New: func() any { return &artifact.Install{} }},
		{Name: "block", Doc: "Makes sure of lines between two markers in a file.", New: func() any { return &edit.Block{} }},
		{Name: "cert_check", Doc: "Looks whether certificates are as wanted and live long enough; has rows.", New: func() any { return &certificate.Checks{} }},
		{Name: "certificate", Doc: "Makes keys on the host and has the controller sign their certificates.", New: func() any { return &certificate.Certificates{} }},
		{Name: "command", Doc: "Runs a program; the last resort where no module fits.", New: func() any { return &command.Command{} }},
		{Name: "copy", Doc: "Puts a file of the role, or the content given, on the host.", New: func() any { return &content.Copy{} }},
		{Name: "cron", Doc: "Makes sure of a job of cron.", New: func() any { return &cron.Cron{} }},
		{Name: "debug", Doc: "Shows text or a value.", New: func() any { return &flow.Debug{} }},
		{Name: "directory", Doc: "Makes sure of directories and their access.", New: func() any { return &file.Directory{} }},
		{Name: "download", Doc: "Puts what is at an address on the host; its SHA-256 must be given.", New: func() any { return &download.Download{} }},
		{Name: "facts", Doc: "Tells what the host is and has, at this moment.", New: func() any { return &gather.Facts{} }},
		{Name: "fail", Doc: "Ends the host's run with a message.", New: func() any { return &flow.Fail{} }},
		{Name: "file", Doc: "Makes sure of a file's content and access.", New: func() any { return &file.File{} }},
		{Name: "git", Doc: "Keeps a clone of a git repository at a branch, tag or commit.", New: func() any { return &gitclone.Git{} }},
		{Name: "group", Doc: "Makes sure of a group.", New: func() any { return &account.Group{} }},
		{Name: "host_checks", Doc: "Looks whether the host offers what its roles need; has rows.", New: func() any { return &hostcheck.Checks{} }},
		{Name: "host_download", Doc: "Downloads a file from the host itself; download is made of it.", New: func() any { return &download.Host{} }},
		{Name: "host_reboot", Doc: "Reboots the host, and waits for nothing; reboot asks for it.", New: func() any { return &boot.Reboot{} }},
		{Name: "hostname", Doc: "Sets the host's name.", New: func() any { return &identity.Hostname{} }},
		{Name: "hosts_entry", Doc: "Makes sure of names in /etc/hosts.", New: func() any { return &identity.HostsEntry{} }},
		{Name: "http_check", Doc: "Asks addresses and compares the answers; has rows.", New: func() any { return &probe.Checks{} }},
		{Name: "image", Doc: "Makes sure that containerd has catalogued images.", New: func() any { return &image.Image{} }},
		{Name: "image_import", Doc: "Imports image tarballs from blobs; image is made of it.", New: func() any { return &image.Import{} }},
		{Name: "kernel_module", Doc: "Makes sure that the kernel has its modules, now and after a reboot.", New: func() any { return &kernel.Modules{} }},
		{Name: "line", Doc: "Makes sure of one line of a file, or that it is not there.", New: func() any { return &edit.Line{} }},
		{Name: "link", Doc: "Makes sure of a symbolic link.", New: func() any { return &file.Link{} }},
		{Name: "mount", Doc: "Makes sure of a mounted file system and its line in /etc/fstab.", New: func() any { return &mount.Mount{} }},
		{Name: "package", Doc: "Installs or removes packages of the host's distribution.", New: func() any { return &packages.Package{} }},
		{Name: "proxy_ready", Doc: "Waits until a proxy passes a request on.", New: func() any { return &forward.Ready{} }},
		{Name: "purge", Doc: "Removes what deployer wrote to a directory and is not to be kept.", New: func() any { return purge.New() }},
		{Name: "read", Doc: "Reads whole files.", New: func() any { return &inspect.Read{} }},
		{Name: "read_part", Doc: "Reads a part of a file, whatever is in it; fetch asks for it.", New: func() any { return &inspect.Part{} }},
		{Name: "replace", Doc: "Puts something else in the place of all that matches a regular expression in a file.", New: func() any { return &edit.Replace{} }},
		{Name: "repository", Doc: "Makes sure of a package source of apt, dnf or zypper and of the key that signs it.", New: func() any { return packages.NewRepository() }},
		{Name: "runtime_ready", Doc: "Waits until the container runtime answers over CRI and has run a container.", New: func() any { return &cri.Ready{} }},
		{Name: "script", Doc: "Runs a script of the role on the host.", New: func() any { return &command.Script{} }},
		{Name: "script_run", Doc: "Writes, runs and removes a script; script is made of it.", New: func() any { return &command.Run{} }},
		{Name: "service", Doc: "Brings a service to its wanted state: another name of unit, in Ansible's words.", New: func() any { return &unit.Unit{} }},
		{Name: "set", Doc: "Gives values names for later tasks.", New: func() any { return &flow.Set{} }},
		{Name: "shell", Doc: "Runs lines in a shell; the last resort where no module fits.", New: func() any { return &command.Shell{} }},
		{Name: "stat", Doc: "Tells what is at a path.", New: func() any { return &inspect.Stat{} }},
		{Name: "static_pod_ready", Doc: "Waits until the kubelet runs a static pod as its manifest says.", New: func() any { return &staticpod.Ready{} }},
		{Name: "swap", Doc: "Turns swap off, now and after a reboot.", New: func() any { return &kernel.Swap{} }},
		{Name: "sysctl", Doc: "Makes kernel settings hold, now and after a reboot.", New: func() any { return &kernel.Sysctl{} }},
		{Name: "template", Doc: "Renders a template of the role and puts it on the host.", New: func() any { return &content.Template{} }},
		{Name: "timer", Doc: "Makes sure that systemd runs a command at certain times.", New: func() any { return &timer.Timer{} }},
		{Name: "timezone", Doc: "Sets the time zone.", New: func() any { return &identity.Timezone{} }},
		{Name: "tree", Doc: "Makes sure of a directory with what is below it; copy of a directory is made of it.", New: func() any { return &file.Tree{} }},
		{Name: "unarchive", Doc: "Unpacks an archive of the role, or of the host, into a directory.", New: func() any { return &archive.Unarchive{} }},
		{Name: "unit", Doc: "Brings a systemd unit to its wanted state and waits for the effect.", New: func() any { return &unit.Unit{} }},
		{Name: "unit_check", Doc: "Looks whether systemd units run; has rows.", New: func() any { return &unit.Checks{} }},
		{Name: "unit_process", Doc: "Reads which process a systemd unit runs and since when.", New: func() any { return &unit.Process{} }},
		{Name: "unpack", Doc: "Unpacks an archive from a blob or the host; unarchive is made of it.", New: func() any { return &archive.Unpack{} }},
		{Name: "user", Doc: "Makes sure of a user.", New: func() any { return account.NewUser() }},
		{Name: "wait_for", Doc: "Waits until a port, path, socket or address answers.", New: func() any { return &wait.For{} }},
		{Name: "yaml_file", Doc: "Writes a value as a YAML file.", New: func() any { return &content.YAMLFile{} }},
	})))
}
