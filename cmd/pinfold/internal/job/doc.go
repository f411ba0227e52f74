// Package job makes pinfold and the command that it runs one job to the shell
// that started it.
//
// The command stays in pinfold's process group and terminal session. What a
// person types (Ctrl-C, Ctrl-\, Ctrl-Z) therefore reaches the command from the
// terminal itself, and pinfold must not do anything about it: whether the command
// ends, stops or goes on is the command's business, and pinfold follows it. So
// when the command is stopped, pinfold stops in the same way, the shell takes the
// terminal back, and "fg" continues both.
//
// What is sent to pinfold alone by kill(2) is meant for the command, and is passed
// on. The kernel's notice of who sent a signal is not available to a Go program,
// so for the signals that a keyboard also makes the rule is: while pinfold is in
// the foreground of its terminal and the command in pinfold's group, they came
// from the keyboard; otherwise they were sent.
package job
