package convert

import "strings"

// moduleRule says how a module of Ansible is called here and which of its arguments carry
// over. Every other argument is listed.
type moduleRule struct {
	to   string            // deployer's module
	args map[string]string // deployer's names of the arguments, by Ansible's; nil for any
	// durations are arguments in seconds.
	durations []string
	// adds are arguments that a task gets when it does not have them, because the default
	// differs.
	adds []addition
	// differs are differences of arguments with a value, by the name.
	differs map[string]string
}

// addition is an argument with Ansible's default.
type addition struct {
	name, value string
	with        string // only beside this argument; empty for always
	unless      string // not with this value of state
}

// carried returns a map of names from words of the form NAME or THEIRS>OURS.
func carried(words string) map[string]string {
	out := map[string]string{}
	for _, w := range strings.Fields(words) {
		theirs, ours, ok := strings.Cut(w, ">")
		if !ok {
			ours = theirs
		}
		out[theirs] = ours
	}
	return out
}

const access = " mode owner group follow backup validate"

var (
	recommends  = []addition{{name: "install_recommends", value: "true", unless: "absent"}}
	commandArgs = carried("cmd argv creates removes chdir stdin executable env read_only on_resume ok_exits")
	fileArgs    = carried("path dest>path name>path state" + access + " content blob from empty secret force")
)

// moduleRules are the modules of Ansible that carry over, by their names without the
// collection.
var moduleRules = map[string]moduleRule{
	"file":            {to: "file", args: fileArgs},
	"template":        {to: "template", args: carried("src dest force secret" + access)},
	"copy":            {to: "copy", args: carried("src content dest remote_src directory_mode force secret" + access)},
	"lineinfile":      {to: "line", args: carried("path dest>path name>path regexp regex>regexp line state insertafter>insert_after insertbefore>insert_before firstmatch>first_match backrefs create" + access)},
	"blockinfile":     {to: "text_block", args: carried("path dest>path name>path block content>block marker state insertafter>insert_after insertbefore>insert_before create" + access), adds: []addition{{name: "marker", value: `"# {mark} ANSIBLE MANAGED BLOCK"`}}},
	"replace":         {to: "replace", args: carried("path dest>path name>path regexp replace>replacement after before" + access)},
	"apt":             {to: "package", args: packageArgs, durations: []string{"cache_valid_time", "lock_timeout"}, adds: recommends},
	"package":         {to: "package", args: packageArgs, durations: []string{"cache_valid_time", "lock_timeout"}, adds: recommends},
	"yum":             {to: "package", args: packageArgs, durations: []string{"lock_timeout"}, adds: recommends},
	"dnf":             {to: "package", args: packageArgs, durations: []string{"lock_timeout"}, adds: recommends},
	"dnf5":            {to: "package", args: packageArgs, adds: recommends},
	"zypper":          {to: "package", args: packageArgs, adds: recommends},
	"service":         {to: "service", args: unitArgs},
	"systemd":         {to: "unit", args: unitArgs},
	"systemd_service": {to: "unit", args: unitArgs},
	"sysvinit":        {to: "unit", args: unitArgs},
	"command":         {to: "command", args: commandArgs},
	"shell":           {to: "shell", args: commandArgs},
	"script":          {to: "script", args: commandArgs},
	"raw":             {to: "shell", args: commandArgs},
	"stat":            {to: "stat", args: carried("path dest>path name>path follow checksum get_checksum>checksum"), differs: map[string]string{"get_checksum": "the checksum is SHA-256 here, SHA-1 in Ansible", "checksum": "the checksum is SHA-256 here"}},
	"assert":          {to: "assert", args: carried("that fail_msg msg success_msg quiet")},
	"fail":            {to: "fail", args: carried("msg detail")},
	"debug":           {to: "debug", args: carried("msg var value")},
	"user": {to: "user", args: carried("name user>name uid group groups append comment home create_home createhome>create_home move_home shell system password update_password password_lock>locked state remove"),
		adds:    []addition{{name: "append", value: "false", with: "groups", unless: "absent"}, {name: "create_home", value: "true", with: "system", unless: "absent"}},
		differs: map[string]string{"system": "without shell, a system user gets /usr/sbin/nologin here, and the shell of useradd in Ansible"}},
	"group":          {to: "group", args: carried("name gid system state")},
	"mount":          {to: "mount", args: carried("path name>path src fstype opts dump passno state")},
	"git":            {to: "git", args: carried("repo name>repo dest version depth update force key_file accept_hostkey>accept_new_host_key accept_newhostkey>accept_new_host_key")},
	"unarchive":      {to: "unarchive", args: carried("src dest remote_src include exclude owner group creates strip_components")},
	"authorized_key": {to: "authorized_key", args: carried("user key key_options exclusive state")},
	"fetch":          {to: "fetch", args: carried("src dest flat")},
	"reboot":         {to: "reboot", args: carried("msg pre_reboot_delay post_reboot_delay reboot_timeout test_command reboot_command"), durations: []string{"pre_reboot_delay", "post_reboot_delay", "reboot_timeout"}},
	"wait_for":       {to: "wait_for", args: carried("host port path search_regex state delay timeout sleep>interval msg http command socket interval"), durations: []string{"delay", "timeout", "sleep"}},
	"hostname":       {to: "hostname", args: carried("name")},
	"timezone":       {to: "timezone", args: carried("name")},
	"cron":           {to: "cron", args: carried("name job minute hour day month weekday special_time user cron_file disabled state")},
	"modprobe":       {to: "kernel_module", args: carried("name"), differs: map[string]string{"name": "kernel_module loads it at each boot, too"}},
	"sysctl":         {to: "sysctl", args: carried("name settings optional")},
	"get_url":        {to: "download", args: carried("url dest mode owner group follow backup validate headers sha256")},
	"slurp":          {to: "read", args: map[string]string{}},
	"include_vars":   {to: "include_vars"},
	"include_role":   {to: "include_role"},
	"import_role":    {to: "include_role"},
	"include_tasks":  {to: "include_tasks"},
	"import_tasks":   {to: "include_tasks"},
	"include":        {to: "include_tasks"},
	"setup":          {to: "facts", args: carried("gather")},
	"gather_facts":   {to: "facts", args: carried("gather")},
	"meta":           {to: "meta"},
	"set_fact":       {to: "set"},
	"package_facts":  {to: "facts", args: carried("gather")},
	"service_facts":  {to: "facts", args: carried("gather")},
	"archive":        {to: "archive", args: carried("path paths dest format exclude exclude_path>exclude mode owner group")},
	"pause":          {to: "wait_for", args: carried("delay")},
	"uri":            {to: "wait_for", args: carried("http")},
	"yum_repository": {to: "repository", args: carried("name description baseurl>url mirrorlist metalink enabled state")},
	"apt_repository": {to: "repository", args: map[string]string{}},
}

var (
	packageArgs = carried("name pkg>name package>name state update_cache cache_valid_time install_recommends allow_downgrade purge autoremove lock_timeout")
	unitArgs    = carried("name service>name unit>name state enabled masked daemon_reload no_block content")
)
