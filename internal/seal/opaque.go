package seal

import (
	"fmt"
	"io"
)

// opaque, when embedded, keeps the surrounding struct out of logs: every fmt verb
// prints the same word, and so does log/slog, which formats with fmt.
type opaque struct{}

// Format implements [fmt.Formatter].
func (opaque) Format(f fmt.State, _ rune) {
	io.WriteString(f, "[secret]")
}
