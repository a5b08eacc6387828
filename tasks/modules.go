// Package tasks is the table of the modules that run on hosts, and of the preparers
// that compute their arguments on the controller. The agent links all of it, so
// nothing heavy belongs below this package, except below control.
package tasks

import (
	"deployer/engine"
	"deployer/tasks/account"
	"deployer/tasks/archive"
	"deployer/tasks/artifact"
	"deployer/tasks/bgp"
	"deployer/tasks/bird"
	"deployer/tasks/certificate"
	"deployer/tasks/command"
	"deployer/tasks/content"
	"deployer/tasks/controlflow"
	"deployer/tasks/cri"
	"deployer/tasks/cron"
	"deployer/tasks/diskspace"
	"deployer/tasks/download"
	"deployer/tasks/edit"
	"deployer/tasks/effects"
	"deployer/tasks/etcddata"
	"deployer/tasks/etcdsnapshot"
	"deployer/tasks/examples"
	"deployer/tasks/facts"
	"deployer/tasks/file"
	"deployer/tasks/forward"
	"deployer/tasks/gitclone"
	"deployer/tasks/hostcheck"
	"deployer/tasks/httpcheck"
	"deployer/tasks/identity"
	"deployer/tasks/image"
	"deployer/tasks/keeperactions"
	"deployer/tasks/kernel"
	"deployer/tasks/mount"
	"deployer/tasks/networkstate"
	"deployer/tasks/nodedns"
	"deployer/tasks/packages"
	"deployer/tasks/purge"
	"deployer/tasks/reboot"
	"deployer/tasks/resolver"
	"deployer/tasks/settings"
	"deployer/tasks/stat"
	"deployer/tasks/staticpod"
	"deployer/tasks/timer"
	"deployer/tasks/unit"
	"deployer/tasks/versions"
	"deployer/tasks/virtualip"
	"deployer/tasks/wait"
)

// Modules returns all kinds of task that run on hosts, with their preparers.
func Modules() []engine.Kind {
	return examples.In(restorable(limited([]engine.Kind{
		{Name: "absent", Doc: "Removes files, links and directories.", New: func() any { return &file.Absent{} }},
		{Name: "archive", Doc: "Creates an archive of files and directories of the host.", New: func() any { return &archive.Pack{} }},
		{Name: "artifact", Doc: "Installs a catalogued binary, or members of a catalogued archive.", New: func() any { return &artifact.Artifact{} }},
		{Name: "assert", Doc: "Fails the host unless conditions hold.", New: func() any { return &controlflow.Assert{} }},
		{Name: "authorized_key", Doc: "Manages the public keys in a user's authorized_keys file.", New: func() any { return &account.AuthorizedKey{} }},
		{Name: "backups_purge", Doc: "Removes the backups of all runs from a host that leaves, the present run included.", Internal: true, New: func() any { return &purge.Backups{} }},
		{Name: "bgp_password", Doc: "Writes the password of the BGP sessions for BIRD; the controller holds it.", Internal: true, New: func() any { return &bgp.Password{} }},
		{Name: "bird_ready", Doc: "Waits until BIRD has the sessions and routes that it had before a change.", Internal: true, New: func() any { return &bird.Ready{} }},
		{Name: "bird_status", Doc: "Reads the established BGP sessions and the routes in the kernel.", Internal: true, New: func() any { return &bird.Status{} }},
		{Name: "blob_install", Doc: "Installs a file, or members of an archive, from a blob; the module artifact becomes this one.", Internal: true, New: func() any { return &artifact.Install{} }},
		{Name: "ca_files", Doc: "Writes the files of the certificate authorities (CAs) that the controller holds for the host.", Internal: true, New: func() any { return &certificate.CAFiles{} }},
		{Name: "ca_read", Doc: "Reads the CA files that a master holds.", Internal: true, New: func() any { return &certificate.CARead{} }},
		{Name: "cert_check", Doc: "Checks that certificates are as wanted and do not expire soon; the output has one row per check.", New: func() any { return &certificate.Checks{} }},
		{Name: "certificate", Doc: "Creates keys on the host and installs certificates that the controller signs for them.", New: func() any { return &certificate.Certificates{} }},
		{Name: "command", Doc: "Runs a program, for work that no module does.", New: func() any { return &command.Command{} }},
		{Name: "component_versions", Doc: "Reads the versions of the cluster's components on the host.", Internal: true, New: func() any { return &versions.Components{} }},
		{Name: "copy", Doc: "Copies a file or directory of the role, or given content, to the host.", New: func() any { return &content.Copy{} }},
		{Name: "cron", Doc: "Manages a cron job.", New: func() any { return &cron.Cron{} }},
		{Name: "debug", Doc: "Shows text or a value.", New: func() any { return &controlflow.Debug{} }},
		{Name: "directory", Doc: "Manages directories and their access.", New: func() any { return &file.Directory{} }},
		{Name: "directory_tree", Doc: "Manages a directory with everything below it; copy of a directory becomes this module.", Internal: true, New: func() any { return &file.DirectoryTree{} }},
		{Name: "disk_space", Doc: "Fails unless directories have room for what will be written to them.", New: func() any { return &diskspace.DiskSpace{} }},
		{Name: "dns_answers", Doc: "Waits until the DNS cache of a node answers as cluster DNS does.", Internal: true, New: func() any { return &nodedns.Answers{} }},
		{Name: "dns_cache_users", Doc: "Finds the pods of a node that started with the address of its DNS cache.", Internal: true, New: func() any { return &nodedns.Users{} }},
		{Name: "download", Doc: "Downloads a file from a URL to the host; its SHA-256 must be given.", New: func() any { return &download.Download{} }},
		{Name: "effects_check", Doc: "Checks that a node does what its files say: static pods, rules, the way of pods out of the cluster, CNI, kernel settings, name servers; the output has one row per check.", New: func() any { return &effects.Checks{} }},
		{Name: "etcd_revision", Doc: "Reads the highest revision of the data of etcd on the host, from its files.", Internal: true, New: func() any { return &etcddata.Revision{} }},
		{Name: "etcd_snapshot", Doc: "Saves a snapshot of the host's etcd member, verifies it, and keeps the newest ones.", New: func() any { return &etcdsnapshot.Snapshot{} }},
		{Name: "facts", Doc: "Gathers facts about the host, as they are at this moment.", New: func() any { return &facts.Facts{} }},
		{Name: "fail", Doc: "Fails the host with a message.", New: func() any { return &controlflow.Fail{} }},
		{Name: "file", Doc: "Manages a file's content and access.", New: func() any { return &file.File{} }},
		{Name: "git", Doc: "Keeps a clone of a git repository at a branch, tag or commit.", New: func() any { return &gitclone.Git{} }},
		{Name: "group", Doc: "Manages a group.", New: func() any { return &account.Group{} }},
		{Name: "host_checks", Doc: "Checks that the host meets the requirements of its roles; the output has one row per check.", Internal: true, New: func() any { return &hostcheck.Checks{} }},
		{Name: "host_download", Doc: "Downloads a file from the host itself; the module download becomes this one.", Internal: true, New: func() any { return &download.Host{} }},
		{Name: "host_reboot", Doc: "Starts a reboot of the host without waiting for it; the action reboot calls it.", Internal: true, New: func() any { return &reboot.Reboot{} }},
		{Name: "hostname", Doc: "Sets the host's name.", New: func() any { return &identity.Hostname{} }},
		{Name: "hosts_entry", Doc: "Manages names in /etc/hosts.", New: func() any { return &identity.HostsEntry{} }},
		{Name: "http_check", Doc: "Requests URLs and compares the responses; the output has one row per check.", New: func() any { return &httpcheck.Checks{} }},
		{Name: "image", Doc: "Keeps catalogued images in containerd.", New: func() any { return &image.Image{} }},
		{Name: "image_import", Doc: "Imports image archives from blobs into containerd; the module image becomes this one.", Internal: true, New: func() any { return &image.Import{} }},
		{Name: "keeper_actions", Doc: "Reads the last actions of the host's keeper.", Internal: true, New: func() any { return &keeperactions.Read{} }},
		{Name: "kernel_module", Doc: "Loads kernel modules, now and at each boot.", New: func() any { return &kernel.Modules{} }},
		{Name: "line", Doc: "Manages one line of a file.", New: func() any { return &edit.Line{} }},
		{Name: "link", Doc: "Manages a symbolic link.", New: func() any { return &file.Link{} }},
		{Name: "mount", Doc: "Manages a mounted file system and its line in /etc/fstab.", New: func() any { return &mount.Mount{} }},
		{Name: "name_servers", Doc: "Finds the file with name servers that pods can reach.", New: func() any { return &resolver.NameServers{} }},
		{Name: "network_state", Doc: "Reads the BGP sessions, the missing routes to pods, and the MTU of the host's interfaces.", Internal: true, New: func() any { return &networkstate.State{} }},
		{Name: "package", Doc: "Installs or removes packages of the host's distribution.", New: func() any { return &packages.Package{} }},
		{Name: "pods_ended", Doc: "Ends the pods of a host that a network of CNI connects; the kubelet starts them again.", Internal: true, New: func() any { return &cri.Ended{} }},
		{Name: "proxy_ready", Doc: "Waits until a proxy forwards a request.", New: func() any { return &forward.Ready{} }},
		{Name: "purge", Doc: "Removes files that deployer wrote to a directory, except those to keep.", New: func() any { return purge.New() }},
		{Name: "read", Doc: "Reads whole files.", New: func() any { return &stat.Read{} }},
		{Name: "read_part", Doc: "Reads a range of bytes of a file; the action fetch calls it.", Internal: true, New: func() any { return &stat.Part{} }},
		{Name: "replace", Doc: "Replaces all matches of a regular expression in a file.", New: func() any { return &edit.Replace{} }},
		{Name: "repository", Doc: "Manages a package source of apt, dnf or zypper and the key that signs it.", New: func() any { return packages.NewRepository() }},
		{Name: "running_settings", Doc: "Reads the names and the settings of the cluster with which the components of the host run.", Internal: true, New: func() any { return &settings.Running{} }},
		{Name: "runtime_ready", Doc: "Waits until the container runtime answers over CRI and has run a container.", New: func() any { return &cri.Ready{} }},
		{Name: "script", Doc: "Runs a script of the role on the host.", New: func() any { return &command.Script{} }},
		{Name: "script_run", Doc: "Writes, runs and removes a script; the module script becomes this one.", Internal: true, New: func() any { return &command.Run{} }},
		{Name: "service", Doc: "Manages a systemd unit; the same module as unit, under Ansible's name.", New: func() any { return &unit.Unit{} }},
		{Name: "set", Doc: "Sets variables for later tasks.", New: func() any { return &controlflow.Set{} }},
		{Name: "shell", Doc: "Runs lines in a shell, for work that no module does.", New: func() any { return &command.Shell{} }},
		{Name: "stat", Doc: "Reads type, size, access and checksum of a path.", New: func() any { return &stat.Stat{} }},
		{Name: "static_pod_ready", Doc: "Waits until the kubelet runs a static pod as its manifest says.", New: func() any { return &staticpod.Ready{} }},
		{Name: "static_pod_reload", Doc: "Makes a static pod's program read its configuration files again, without a restart.", New: func() any { return &staticpod.Reload{} }},
		{Name: "swap", Doc: "Turns swap off, now and at each boot.", New: func() any { return &kernel.Swap{} }},
		{Name: "sysctl", Doc: "Sets kernel parameters, now and at each boot.", New: func() any { return &kernel.Sysctl{} }},
		{Name: "template", Doc: "Renders a template of the role to a file on the host.", New: func() any { return &content.Template{} }},
		{Name: "text_block", Doc: "Manages a block of lines between two markers in a file.", New: func() any { return &edit.TextBlock{} }},
		{Name: "timer", Doc: "Manages a systemd timer that runs a command at certain times.", New: func() any { return &timer.Timer{} }},
		{Name: "timezone", Doc: "Sets the time zone.", New: func() any { return &identity.Timezone{} }},
		{Name: "unarchive", Doc: "Unpacks an archive of the role, or of the host, into a directory.", New: func() any { return &archive.Unarchive{} }},
		{Name: "unit", Doc: "Manages a systemd unit's state and waits until it has taken effect.", New: func() any { return &unit.Unit{} }},
		{Name: "unit_check", Doc: "Checks that systemd units run; the output has one row per check.", New: func() any { return &unit.Checks{} }},
		{Name: "unit_process", Doc: "Reads the main process of a systemd unit and its start time.", New: func() any { return &unit.Process{} }},
		{Name: "unpack", Doc: "Unpacks an archive from a blob or the host; the module unarchive becomes this one.", Internal: true, New: func() any { return &archive.Unpack{} }},
		{Name: "user", Doc: "Manages a user.", New: func() any { return account.NewUser() }},
		{Name: "virtual_ip_check", Doc: "Checks that one host has the virtual address of the API, and that it answers; the output has one row.", Internal: true, New: func() any { return &virtualip.Checks{} }},
		{Name: "wait_for", Doc: "Waits for a port, path, socket, file content, command or HTTP response.", New: func() any { return &wait.Condition{} }},
		{Name: "yaml_file", Doc: "Writes a value as a YAML file.", New: func() any { return &content.YAMLFile{} }},
	})))
}
