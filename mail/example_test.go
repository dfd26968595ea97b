package mail_test

import (
	"fmt"
	"log"

	"authsvc"
	"authsvc/mail"
)

func ExampleSMTP() {
	send, err := mail.SMTP("smtp://user:p%40ss@mail.example.com:587", mail.Options{})
	if err != nil {
		log.Fatal(err)
	}
	email := authsvc.Email{
		From: "Acme <no-reply@example.com>",
		Send: send,
	}
	fmt.Println(email.From)
	// Output: Acme <no-reply@example.com>
}
