package control

// freeTexts are the arguments that may have any text, by the reason. An argument with a grammar
// has a rule of package argrule instead.
var freeTexts = map[string]string{
	"content of a file": `copy.Content directory_tree.Entries.Content file.Content kube_apply.Content replace.Replacement script_run.Content service.Content
		snapshot_check.MAC snapshot_macs.Snapshots.MAC text_block.Block unit.Content yaml_file.Header`,
	"program with its arguments": `command.Cmd command.Argv hook.Command host_reboot.Command reboot.RebootCommand reboot.TestCommand script.Cmd
		script_run.Program script_run.Args service.RestartUnless shell.Cmd timer.Command unit.RestartUnless wait_for.Command`,
	"program that checks the new content": `copy.Validate directory_tree.Validate download.Validate file.Validate host_download.Validate line.Options.Validate
		replace.Options.Validate template.Validate text_block.Options.Validate yaml_file.Validate`,
	"value of an environment variable, or input of a program": `command.Env command.Stdin hook.Env script.Env script.Stdin script_run.Env script_run.Stdin shell.Env shell.Stdin`,
	"body of a request":  `hook.HTTP.Body`,
	"message for people": `assert.FailMsg assert.Msg assert.SuccessMsg conformance.Missing fail.Msg fail.Detail host_reboot.Msg reboot.Msg wait_for.Msg`,
}
