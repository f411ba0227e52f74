package core

import "strconv"

// quote shows a string that came from outside so that no byte of it can be
// mistaken for part of the message or act on a terminal.
func quote(s string) string { return strconv.QuoteToASCII(s) }
